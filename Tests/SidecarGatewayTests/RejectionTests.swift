import LocalServer
import PosternJSONRPC
import PosternProtocol
import Testing

@Suite("Rejections of the listener are errors of the protocol")
struct RejectionTests {
  /// Catches a code or summary that the documents and the protocol have not, or have for another reason.
  @Test("A kind of rejection has no error of its reason", arguments: RequestRejection.Kind.allCases)
  func kinds(_ kind: RequestRejection.Kind) throws {
    let error = try #require((RPCErrorCode.listener + RPCErrorCode.common).first { $0.reason == kind.rawValue })
    #expect(error.code == kind.code && error.summary == kind.summary)
  }

  /// Catches an error that no request can have.
  @Test("An error of the listener has no kind")
  func errors() {
    for error in RPCErrorCode.listener { #expect(RequestRejection.Kind(rawValue: error.reason) != nil) }
    #expect(Set(RPCErrorCode.listener.map(\.code)).count == RPCErrorCode.listener.count)
  }
}
