import PosternJSON
import PosternJSONRPC
import PosternSupport
import Testing

@testable import PosternProtocol

@Suite("OpenRPC document: generated from the method types")
struct OpenRPCDocumentTests {
  @Test("every member of params and results is documented, and nothing else is")
  func documented() {
    #expect(ProtocolMethods.descriptions.flatMap(\.undocumented) == [])
  }

  @Test("method names and error numbers are unique, so that a caller can switch on them")
  func unique() {
    let descriptions = ProtocolMethods.descriptions
    #expect(Set(descriptions.map(\.name)).count == descriptions.count)
    let codes = Set(descriptions.flatMap(\.errors) + [.parseError, .invalidRequest])
    #expect(Set(codes.map(\.number)).count == codes.count)
    // The contract has one reason twice: an issuer that is not configured, returned by validation and by sessions.
    #expect(Set(codes.map(\.reason)).count == codes.count - 1)
  }

  @Test("the recorder distinguishes required from optional and finds nested kinds")
  func recorder() throws {
    let fetch = try #require(ProtocolMethods.descriptions.first { $0.name == "fetchResource" })
    let params = Dictionary(uniqueKeysWithValues: fetch.params.map { ($0.name, $0) })
    #expect(params["path"]?.isRequired == false)
    #expect(
      params["auth"]?.schema["enum"] == [
        "user", "implicit", "clientCredentials", "credential", "onBehalfOf", "none",
      ])
    #expect(params["headers"]?.schema["additionalProperties"]?["oneOf"] != nil)
    #expect(params["followRedirects"]?.schema["type"] == "boolean")
    #expect(fetch.resultSchema["properties"]?["timing"]?["properties"]?["totalMs"]?["type"] == "integer")
    #expect(fetch.resultSchema["required"]?.arrayValue?.contains("status") == true)
    #expect(fetch.resultSchema["required"]?.arrayValue?.contains("body") == false)
    let subscribe = try #require(ProtocolMethods.descriptions.first { $0.name == "subscribe" })
    #expect(subscribe.params.first?.isRequired == true)
    #expect(subscribe.params.first?.schema["items"]?["enum"]?.arrayValue?.count == 6)
  }
}
