import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternRuntime
import PosternSupport

/// The descriptors that the bodies of one fetch come from and go to, instead of through messages.
struct FetchBodies: Sendable {
  private var reader: BodyReader?
  private var writer: BodyWriter?

  /// The bodies that `params` want from and in `descriptors`, which the call has claimed.
  init(
    _ params: FetchResource.Params, _ descriptors: [PassedDescriptor], patience: Duration
  ) async throws(RPCFault) {
    try Self.check(params)
    var left = descriptors[...]
    if params.bodyFrom != nil {
      let descriptor = try Self.next(&left, for: "bodyFrom")
      do throws(DescriptorError) {
        reader = try await BodyReader(descriptor, length: params.contentLength, patience: patience)
      } catch {
        var path = "/bodyFrom"
        if case .short = error { path = "/contentLength" }
        throw Self.fault(error, at: path)
      }
    }
    if params.bodyTo != nil {
      let descriptor = try Self.next(&left, for: "bodyTo")
      do throws(DescriptorError) {
        writer = try await BodyWriter(descriptor, patience: patience)
      } catch {
        throw Self.fault(error, at: "/bodyTo")
      }
    }
  }

  /// Whether the request's body comes from a descriptor.
  var hasReader: Bool { reader != nil }

  /// How many bytes of the response's body were written; nil: it is in the result.
  var bytesWritten: Int64? { writer?.bytes }

  /// Has a fetch with `options` use the descriptors.
  func apply(to options: inout FetchOptions) {
    if let writer {
      options.deliver = writer.write
      // All that waits, with one call of the body's thread.
      options.pieceBytes = TransferControl.window
    }
    guard let reader else { return }
    options.supply = BodySupply(
      length: reader.length,
      next: {
        if let bytes = await reader.next() { return .bytes(bytes) }
        return .failed(reader.failure?.description ?? "reading was cancelled")
      }, rewind: reader.rewind)
  }

  /// The error of a fetch that failed because of a descriptor; nil: it failed for another reason.
  func fault(behind error: ResourceError) -> RPCFault? {
    writer?.failure.map { Self.fault($0, at: "/bodyTo", error.outcome) }
      ?? reader?.failure.map { Self.fault($0, at: "/bodyFrom", error.outcome) }
  }

  private static func check(_ params: FetchResource.Params) throws(RPCFault) {
    if params.bodyTo != nil, params.stream == true {
      throw .invalidParams("bodyTo does not go with stream", path: "/bodyTo")
    }
    guard params.bodyFrom != nil else {
      guard params.contentLength == nil else {
        throw .invalidParams("contentLength goes with bodyFrom", path: "/contentLength")
      }
      return
    }
    if params.body != nil || params.bodyBase64 != nil || params.multipart != nil {
      throw .invalidParams("bodyFrom excludes another body", path: "/bodyFrom")
    }
    if let length = params.contentLength, length < 0 {
      throw .invalidParams("contentLength must not be negative", path: "/contentLength")
    }
  }

  private static func next(
    _ descriptors: inout ArraySlice<PassedDescriptor>, for member: String
  ) throws(RPCFault) -> PassedDescriptor {
    guard let next = descriptors.popFirst() else {
      throw .invalidParams("No descriptor has come with the call (SCM_RIGHTS)", path: "/\(member)")
    }
    return next
  }

  private static func fault(
    _ error: DescriptorError, at path: String, _ outcome: TransportError.Outcome = .notSent
  ) -> RPCFault {
    let code: ErrorCode =
      switch error {
      case .unusable, .failed, .short: .invalidParams
      case .readerGone: .requestCancelled
      case .silent: .deadlineExceeded
      case .exhausted: .overloaded
      }
    return RPCFault(
      code, error.description,
      path: path, outcome: outcome, isRetryable: code == .overloaded)
  }
}
