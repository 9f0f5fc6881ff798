import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// What people are shown of a fetch before it is carried out: made by the code that makes its request.
extension FetchResourceHandler {
  /// The longest parameters of a body that are shown.
  private static let shownParameters = 4096

  /// The request of a call with `params`; of one that continues another fetch, that one's.
  func preview(_ params: JSONTree?, _ context: CallContext) async throws(RPCFault) -> JSONObject {
    let params = try MethodTable.decode(FetchResource.Params.self, params)
    if let continuation = params.continuation { return try await preview(continuation, context) }
    var options = FetchOptions(in: context.scope)
    options.authentication = params.auth.map(ResourceServer.Authentication.init)
    options.narrowing = context.narrowing?.id
    if params.bodyFrom != nil { options.supply = Self.supply(params.contentLength) }
    let server = try server(resourceName(params, context), options, context)
    var shown = try preview(ResourceRequest(params), server, options, context)
    shown["session"] = try await shownSession(params.session, server, context)
    return shown
  }

  /// The request of a program.
  func preview(_ forwarded: ForwardedFetch, _ context: CallContext) async throws(RPCFault) -> JSONObject {
    try context.runtime.check(resource: forwarded.resource)
    if let continuation = forwarded.continuation { return try await preview(continuation, context) }
    let server = try server(forwarded.resource, context)
    var shown = try preview(forwarded.shownRequest, server, options(of: forwarded, context), context)
    shown["session"] = try await shownSession(forwarded.session, server, context)
    guard forwarded.bodyBytes != 0 else { return shown }
    var body = JSONObject()
    body["bytes"] = forwarded.bodyBytes.map { .integer($0) }
    body["contentType"] = forwarded.shownFields["Content-Type"].map { .string($0) }
    shown["body"] = .object(body)
    return shown
  }

  private func preview(_ continuation: String, _ context: CallContext) async throws(RPCFault) -> JSONObject {
    let found = try await suspended(continuation, context)
    var options = found.known.origin.options
    options.narrowing = context.narrowing?.id
    var shown = try preview(found.known.origin.request, found.server, options, context)
    shown["session"] = .string(found.known.session.text)
    return shown
  }

  /// The handle of the session that the call uses; nil where it uses none.
  private func shownSession(
    _ text: String?, _ server: ResourceServer, _ context: CallContext
  ) async throws(RPCFault) -> JSONValue? {
    try await session(text, server, context)?.handle.map { .string($0.text) }
  }

  private func preview(
    _ request: ResourceRequest, _ server: ResourceServer, _ options: FetchOptions, _ context: CallContext
  ) throws(RPCFault) -> JSONObject {
    try context.check(request, to: server, options)
    let preview: ResourceFetcher.RequestPreview
    do throws(ResourceError) {
      preview = try engine.fetcher.preview(request, from: server, options: options)
    } catch {
      throw ErrorMap.fault(error)
    }
    var shown: JSONObject = [
      "resource": .string(server.name), "httpMethod": .string(preview.name), "url": .string("\(preview.url)"),
      "path": .string(preview.path),
    ]
    if !preview.secondURLs.isEmpty {
      shown["otherUrls"] = .array(
        preview.secondURLs.map { ["header": .string($0.field), "url": .string("\($0.url)")] })
    }
    guard let body = preview.body else { return shown }
    var facts = JSONObject()
    facts["bytes"] = body.bytes.map { .integer($0) }
    facts["contentType"] = body.contentType.map { .string($0) }
    shown["body"] = .object(facts)
    if request.body == nil, let parameters = request.parameters.map({ JSONValue.object($0) }),
      JSONWriter().withBytes(of: parameters, { $0.count }) <= Self.shownParameters, CallQuestion.isReadable(parameters)
    {
      shown["parameters"] = parameters
    }
    return shown
  }

  /// Stands for a body that comes with the call.
  private static func supply(_ length: Int64?) -> BodySupply {
    BodySupply(length: length) { .failed("the body comes with the call") }
  }
}
