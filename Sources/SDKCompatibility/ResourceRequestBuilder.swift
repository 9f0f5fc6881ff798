public import HTTPMessages
public import PosternJSON
public import PosternSupport
public import ResourceAccess

/// A mutable form of `ResourceRequest`: properties to set one by one, or in a chain, and `build()`.
///
/// A value: a change of a copy leaves the original unchanged, so that one builder can be used for many requests.
public struct ResourceRequestBuilder: Sendable {
  /// A path behind the resource's base URL, or an absolute URL it allows.
  public var path: String
  /// The method in any case.
  public var method: String
  /// The parameters: GET, HEAD and DELETE send them in the query, the others in the body.
  public var parameters: JSONObject?
  /// The encoding of parameters in a body.
  public var parametersEncoding: ParametersEncoding
  /// A raw body; overrides `parameters`.
  public var body: [UInt8]?
  /// Parts of a `multipart/form-data` body; nil for none.
  public var multipartData: [MultipartPart]?
  /// Additional header fields.
  public var headers: HTTPFields

  /// A GET without a path so far.
  public init() { self.init(ResourceRequest(path: "")) }

  /// A builder with the parts of `request`.
  public init(_ request: ResourceRequest) {
    path = request.path
    method = request.method
    parameters = request.parameters
    parametersEncoding = request.parametersEncoding
    body = request.body
    multipartData = request.multipart
    headers = request.headers
  }

  /// With that path.
  public func setPath(_ path: String) -> Self { with(\.path, path) }

  /// With that method.
  public func setMethod(_ method: HTTPMethod) -> Self { with(\.method, method.rawValue) }

  /// With the method of that name, which is checked when the request is sent.
  public func setMethod(_ name: String) -> Self { with(\.method, name) }

  /// With those parameters.
  public func setParameters(_ parameters: JSONObject?) -> Self { with(\.parameters, parameters) }

  /// With that encoding of parameters.
  public func setParametersEncoding(_ encoding: ParametersEncoding) -> Self { with(\.parametersEncoding, encoding) }

  /// With that raw body.
  public func setBody(_ body: [UInt8]?) -> Self { with(\.body, body) }

  /// With those parts.
  public func setMultipartData(_ parts: [MultipartPart]?) -> Self { with(\.multipartData, parts) }

  /// With those header fields and no others.
  public func setHeaders(_ headers: HTTPFields) -> Self { with(\.headers, headers) }

  /// Makes the request.
  public func build() -> ResourceRequest {
    ResourceRequest(
      path: path, method: method, parameters: parameters, parametersEncoding: parametersEncoding, body: body,
      multipart: multipartData, headers: headers)
  }

  private func with<Value>(_ property: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
    var copy = self
    copy[keyPath: property] = value
    return copy
  }
}

/// Makes requests in one call.
public enum ResourceRequestFactory {
  /// A request with parameters, or with a raw body, which overrides them.
  public static func makeResourceRequest(
    path: String,
    method: HTTPMethod = .get,
    parameters: JSONObject? = nil,
    body: [UInt8]? = nil,
    headers: HTTPFields = [:],
    parametersEncoding: ParametersEncoding = .json
  ) -> ResourceRequest {
    ResourceRequest(
      path: path, method: method.rawValue, parameters: parameters, parametersEncoding: parametersEncoding, body: body,
      headers: headers)
  }

  /// A request with files and fields of a `multipart/form-data` body, after `parameters` as plain fields.
  ///
  /// When it is sent, only POST is accepted, and no `Content-Type` of its own.
  public static func makeMultipartResourceRequest(
    path: String,
    method: HTTPMethod = .post,
    parameters: JSONObject? = nil,
    multipartData: [MultipartPart],
    headers: HTTPFields = [:]
  ) -> ResourceRequest {
    ResourceRequest(
      path: path, method: method.rawValue, parameters: parameters, multipart: multipartData, headers: headers)
  }
}

extension ResourceRequestBuilder: ConciseStringConvertible {
  /// The request.
  public var description: String { "builder of \(build())" }
}
