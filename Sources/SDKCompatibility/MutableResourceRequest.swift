public import HTTPMessages
public import PosternJSON
public import PosternSupport
public import ResourceAccess

/// A request whose properties can be set one by one, or in a chain, and which is sent like a `ResourceRequest`.
///
/// A value: a change of a copy leaves the original unchanged, and a fetch has the properties of the moment when it is
/// sent.
public struct MutableResourceRequest: Sendable, ResourceRequestConvertible {
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

  /// A request of that path and method, without anything else so far.
  public init(path: String = "", method: HTTPMethod = .get) { self.init(path: path, method: method.rawValue) }

  /// A request of that path, and the method of that name, which is checked when the request is sent.
  public init(path: String, method: String) { self.init(ResourceRequest(path: path, method: method)) }

  /// A request with the parts of `request`.
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

  /// With those header fields and no others; nil: none.
  public func setHeaders(_ headers: HTTPFields?) -> Self { with(\.headers, headers ?? [:]) }

  /// The immutable request with these properties.
  public var resourceRequest: ResourceRequest {
    ResourceRequest(
      path: path, method: method, parameters: parameters, parametersEncoding: parametersEncoding, body: body,
      multipart: multipartData, headers: headers)
  }

  /// Makes the immutable request: the end of a chain.
  public func build() -> ResourceRequest { resourceRequest }

  private func with<Value>(_ property: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
    var copy = self
    copy[keyPath: property] = value
    return copy
  }
}

/// A `MutableResourceRequest`, by the name under which a chain of its methods reads well.
public typealias ResourceRequestBuilder = MutableResourceRequest

/// Makes requests in one call.
public enum ResourceRequestFactory {
  /// A request with parameters, or with a raw body, which overrides them.
  public static func makeResourceRequest(
    path: String,
    method: HTTPMethod = .get,
    parameters: JSONObject? = nil,
    body: [UInt8]? = nil,
    headers: HTTPFields? = nil,
    parametersEncoding: ParametersEncoding = .json
  ) -> ResourceRequest {
    ResourceRequest(
      path: path, method: method.rawValue, parameters: parameters, parametersEncoding: parametersEncoding, body: body,
      headers: headers ?? [:])
  }

  /// A request with files and fields of a `multipart/form-data` body, after `parameters` as plain fields.
  ///
  /// When it is sent, only POST is accepted, and no `Content-Type` of its own.
  public static func makeMultipartResourceRequest(
    path: String,
    method: HTTPMethod = .post,
    parameters: JSONObject? = nil,
    multipartData: [MultipartPart],
    headers: HTTPFields? = nil
  ) -> ResourceRequest {
    ResourceRequest(
      path: path, method: method.rawValue, parameters: parameters, multipart: multipartData, headers: headers ?? [:])
  }
}

/// A `MultipartPart`, by the name that it has in the SDKs.
public typealias MultipartData = MultipartPart

extension ParametersEncoding {
  // swift-format-ignore: AlwaysUseLowerCamelCase
  /// The name that the SDKs have for `json`.
  public static let JSON = ParametersEncoding.json
}

extension MutableResourceRequest: ConciseStringConvertible {
  /// The request.
  public var description: String { "\(resourceRequest)" }
}
