package import AuthEngine
package import HTTPMessages
import PosternCrypto
import PosternJSON
package import PosternJSONRPC
import PosternProtocol
package import PosternSupport

/// A request of a program that speaks HTTP, as a fetch: `fetchResource` without its messages.
package struct ForwardedFetch: Sendable {
  /// The resource server's name in the configuration.
  package var resource: String
  /// The path behind the resource's base URL, with its query: empty, or with a slash or question mark first.
  package var path: String
  /// The method, as sent.
  package var method: String
  /// The handle of a session, or `only`; nil: that of the endpoint, or nobody's.
  package var session: String?
  /// An inbound token.
  package var onBehalfOf: Secret<String>?
  /// The continuation of the same request, which was suspended at an advice.
  package var continuation: String?
  /// The position in the program's trace.
  package var traceparent: String?
  /// How many bytes the request's body has, as far as that is known.
  package var byteCount = 0
  /// The same; nil: it has one of unknown length.
  package var bodyBytes: Int64? = 0
  /// The URL by which the program knows the resource's base URL; nil: it names no host.
  package var gatewayURL: HTTPURL?
  /// The fields of the request that people are shown: those that name other resources, and its media type.
  package var shownFields = HTTPFields()

  package init(resource: String, path: String, method: String) {
    self.resource = resource
    self.path = path
    self.method = method
  }

  /// The parts of a request that depend on the resource server it is for.
  package struct Content: Sendable {
    /// The fields to send.
    package var fields: HTTPFields
    /// The body; nil: none, or it is supplied.
    package var body: [UInt8]?
    /// The body, read while it is sent.
    package var supply: BodySupply?
    /// Reads the rest of the body that is supplied, and returns all of it; nil: it is not kept.
    package var whole: (@Sendable () async -> [UInt8]?)?

    package init(fields: HTTPFields, body: [UInt8]? = nil, supply: BodySupply? = nil) {
      self.fields = fields
      self.body = body
      self.supply = supply
    }
  }

  /// The call, for approvals, audit log, trace and metrics.
  package var call: Call {
    var params: JSONObject = ["resource": .string(resource), "method": .string(method), "path": .string(path)]
    params["session"] = session.map { .string($0) }
    // An approval is for the same token; nothing else reads it, and nothing may show it.
    params["onBehalfOf"] = onBehalfOf.map {
      .string(Hexadecimal.string(HashFunction.sha256.hash(Array($0.reveal().utf8))))
    }
    params["continuation"] = continuation.map { .string($0) }
    params["meta"] = traceparent.map { ["traceparent": .string($0)] }
    var call = Call(key: 0, id: nil, method: FetchResource.name, params: JSONTree(.object(params)))
    call.byteCount = byteCount
    return call
  }
}

/// The program behind a forwarded fetch.
package protocol ForwardingProgram: Sendable {
  /// The fields of its request for `server`.
  func fields(for server: ResourceServer) -> HTTPFields
  /// The request's content for `server`; called once, when the program may send it.
  func content(for server: ResourceServer) async throws(RPCFault) -> ForwardedFetch.Content
  /// Takes the response at its end: all of it, unless it has begun to come in pieces. It goes on to the program when the
  /// call has ended.
  func take(_ response: ResourceResponse, from server: ResourceServer)
  /// Takes the head of a response that comes in pieces, once. False ends the fetch.
  func begin(_ head: HTTPResponseHead, from server: ResourceServer) async -> Bool
  /// Takes the next bytes of the response, and returns when it can take more. False ends the fetch.
  func deliver(_ piece: [UInt8]) async -> Bool
}
