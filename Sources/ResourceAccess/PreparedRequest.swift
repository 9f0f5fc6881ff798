import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport

/// A call's request, checked against its resource server and ready to be sent but for `Authorization`.
struct PreparedRequest {
  /// The method by whose rules the request is retried.
  let method: HTTPMethod
  let message: HTTPRequest
  /// The resources that its fields name.
  let secondURLs: [SecondURL]

  /// The longest query that parameters may make; servers accept less.
  private static let maxQueryBytes = 64 << 10
  /// The longest form that parameters may make: what a message may hold.
  fileprivate static let maxFormBytes = 16 << 20
  /// The longest multipart body: what the largest message may hold, and the parts' own lines.
  private static let maxMultipartBytes = 1 << 30

  init(
    _ request: ResourceRequest, to server: ResourceServer, _ options: FetchOptions
  ) throws(ResourceError) {
    // What is forwarded is sent as it came.
    method =
      options.isForwarded ? try HTTPMethod(exactly: request.method) : try HTTPMethod(named: request.method)
    let keepsCodings = options.isForwarded && server.keepsCodings
    var fields = try server.prepared.headers.checked(request.headers, keepsCodings: keepsCodings)
    var url = try server.url(forPath: request.path)
    try Self.checkQuery(of: url, for: server, path: ["path"])
    (fields, secondURLs) = try SecondURLs(server, options).reading(fields, of: url)
    var body = request.body
    if let parts = request.multipart {
      let multipart = try Self.multipart(parts, of: request, method, fields)
      body = multipart.bytes
      fields["Content-Type"] = multipart.contentType
    } else if body == nil, options.supply == nil, let parameters = request.parameters {
      if method.takesParametersInQuery {
        let query = try Self.encoded(parameters, limit: Self.maxQueryBytes)
        do throws(HTTPURLError) {
          url = try url.addingQuery(query)
        } catch {
          throw ResourceError(.invalidURL, "with its parameters the URL \(error.phrase)", path: ["parameters"])
        }
        try Self.checkQuery(of: url, for: server, path: ["parameters"])
      } else {
        let (content, type) = try Self.content(parameters, encoding: request.parametersEncoding)
        body = content
        if fields["Content-Type"] == nil { fields["Content-Type"] = type }
      }
    }
    if body != nil, server.payloadEncryption != nil { try PayloadEncryption.check(fields) }
    options.scope.trace?.add(to: &fields)
    var message = HTTPRequest(method: method.rawValue, url: url, fields: fields, body: body)
    message.isForwarded = options.isForwarded
    message.keepsCodings = keepsCodings
    if let supply = options.supply {
      try Self.check(supply, instead: body, of: method, server)
      message.streamedBody = StreamedRequestBody(length: supply.length)
    }
    self.message = message
  }

  /// The parameter that carries the resource's credential is the resource's own.
  private static func checkQuery(
    of url: HTTPURL, for server: ResourceServer, path: ParameterPath
  ) throws(ResourceError) {
    guard server.credential?.isNamed(inQueryOf: url) == true else { return }
    throw ResourceError(
      .invalidURL, "the query has the parameter that is reserved for the resource's credential", path: path)
  }

  private static func check(
    _ supply: BodySupply, instead body: [UInt8]?, of method: HTTPMethod, _ server: ResourceServer
  ) throws(ResourceError) {
    guard method != .get, method != .head else {
      throw ResourceError(.invalidParams, "a body does not go with GET and HEAD", path: ["bodyFrom"])
    }
    guard body == nil else {
      throw ResourceError(.invalidParams, "a body that is read excludes another one", path: ["bodyFrom"])
    }
    guard server.payloadEncryption == nil else {
      throw ResourceError(
        .invalidParams, "the resource's bodies are encrypted, which needs them whole", path: ["bodyFrom"])
    }
  }

  private static func multipart(
    _ parts: [MultipartPart], of request: ResourceRequest, _ method: HTTPMethod, _ fields: HTTPFields
  ) throws(ResourceError) -> MultipartBody {
    guard method == .post else {
      throw ResourceError(.invalidParams, "multipart goes with POST only", path: ["multipart"])
    }
    guard request.body == nil else {
      throw ResourceError(.invalidParams, "multipart and a body exclude each other", path: ["multipart"])
    }
    guard !parts.isEmpty else { throw ResourceError(.invalidParams, "multipart needs a part", path: ["multipart"]) }
    // Its boundary would not be the body's.
    guard fields["Content-Type"] == nil else {
      throw ResourceError(.invalidHeaders, "multipart brings its own media type", path: ["headers", "Content-Type"])
    }
    let fields: [ParameterEncoder.Pair]
    do throws(ParameterEncoder.TooLarge) {
      fields = try ParameterEncoder.pairs(request.parameters ?? JSONObject(), limit: maxFormBytes)
    } catch {
      throw tooLarge(error)
    }
    return try MultipartBody(fields: fields, parts: parts, limit: maxMultipartBytes)
  }

  private static func tooLarge(_ error: ParameterEncoder.TooLarge) -> ResourceError {
    ResourceError(
      .invalidURL, "the parameters take more than \(error.limit) bytes when they are encoded", path: ["parameters"])
  }

  private static func content(
    _ parameters: JSONObject, encoding: ParametersEncoding
  ) throws(ResourceError) -> ([UInt8], type: String) {
    switch encoding {
    case .json: (JSONWriter().write(.object(parameters)), "application/json")
    case .formURL: (Array(try encoded(parameters, limit: maxFormBytes).utf8), FormEncoding.mediaType)
    }
  }

  private static func encoded(_ parameters: JSONObject, limit: Int) throws(ResourceError) -> String {
    do throws(ParameterEncoder.TooLarge) {
      return try ParameterEncoder.encode(parameters, limit: limit)
    } catch {
      throw tooLarge(error)
    }
  }
}

extension ResourceRequest {
  /// The most bytes that the request's body may have when it is sent.
  package var maxBodyBytes: Int {
    let parts = (multipart ?? []).reduce(0) { $0 + $1.data.count + 1024 }
    guard let parameters, body == nil else { return (body?.count ?? 0) + parts }
    guard multipart != nil || parametersEncoding == .formURL else {
      return JSONWriter().withBytes(of: .object(parameters)) { $0.count }
    }
    let size = ParameterEncoder.size(of: parameters, isPercentEncoded: multipart == nil)
    return parts + min(PreparedRequest.maxFormBytes, size)
  }
}
