public import AuthEngine
public import Foundation
public import HTTPMessages
public import PosternJSON

extension JSONObject {
  /// The members of `dictionary`, as `JSONSerialization` has them; throws where one of them is no JSON.
  public init(_ dictionary: [String: Any]) throws(JSONDecodingError) {
    let notJSON = JSONDecodingError(path: "", problem: .invalid("has a member that JSON does not have"))
    guard JSONSerialization.isValidJSONObject(dictionary) else { throw notJSON }
    guard let text = try? JSONSerialization.data(withJSONObject: dictionary),
      let object = try? JSONParser(maxBytes: .max, maxDepth: 512, allowsNUL: true).parse(Array(text)).objectValue
    else { throw notJSON }
    self = object
  }
}

extension HTTPFields {
  /// The fields of a dictionary, in the order of their names.
  public init(_ dictionary: [String: String]) {
    self.init(dictionary.sorted { $0.key < $1.key }.map { Field(name: $0.key, value: $0.value) })
  }
}

extension ResourceRequestFactory {
  /// A request with parameters as Foundation has them; throws where they are no JSON.
  @_disfavoredOverload
  public static func makeResourceRequest(
    path: String, method: HTTPMethod = .get, parameters: [String: Any]?, body: Data? = nil,
    headers: [String: String]? = nil, parametersEncoding: ParametersEncoding = .json
  ) throws(JSONDecodingError) -> ResourceRequest {
    makeResourceRequest(
      path: path, method: method, parameters: try JSONObject.converted(parameters), body: body.map(Array.init),
      headers: headers.map { HTTPFields($0) }, parametersEncoding: parametersEncoding)
  }

  /// A request with a raw body and fields as Foundation has them.
  @_disfavoredOverload
  public static func makeResourceRequest(
    path: String, method: HTTPMethod = .get, body: Data? = nil, headers: [String: String]? = nil
  ) -> ResourceRequest {
    makeResourceRequest(
      path: path, method: method, parameters: JSONObject?.none, body: body.map(Array.init),
      headers: headers.map { HTTPFields($0) })
  }

  /// A multipart request with parameters as Foundation has them; throws where they are no JSON.
  @_disfavoredOverload
  public static func makeMultipartResourceRequest(
    path: String, method: HTTPMethod = .post, parameters: [String: Any]?, multipartData: [MultipartData],
    headers: [String: String]? = nil
  ) throws(JSONDecodingError) -> ResourceRequest {
    makeMultipartResourceRequest(
      path: path, method: method, parameters: try JSONObject.converted(parameters), multipartData: multipartData,
      headers: headers.map { HTTPFields($0) })
  }
}

extension MutableResourceRequest {
  /// With those parameters; throws where they are no JSON.
  @_disfavoredOverload
  public func setParameters(_ parameters: [String: Any]?) throws(JSONDecodingError) -> Self {
    setParameters(try JSONObject.converted(parameters))
  }

  /// With that raw body.
  @_disfavoredOverload
  public func setBody(_ body: Data?) -> Self { setBody(body.map(Array.init)) }

  /// With those header fields and no others.
  @_disfavoredOverload
  public func setHeaders(_ headers: [String: String]?) -> Self { setHeaders(headers.map { HTTPFields($0) }) }
}

extension MultipartPart {
  /// A part with Foundation's bytes.
  @_disfavoredOverload
  public init(name: String, fileName: String? = nil, mimeType: String? = nil, data: Data) {
    self.init(name: name, fileName: fileName, mimeType: mimeType, data: Array(data))
  }
}

extension JSONObject {
  fileprivate static func converted(_ parameters: [String: Any]?) throws(JSONDecodingError) -> JSONObject? {
    guard let parameters else { return nil }
    return try JSONObject(parameters)
  }
}

/// The forms of the SDK with Foundation's `URL`.
extension IDTokenValidating {
  /// Returns whether the token is valid; `error` is nil then, and otherwise the reason. A `jwksUrl` that the engine does
  /// not accept is one.
  public func validate(
    idTokenString: String?, authorizationCode: String?, clientId: String, nonce: String, jwksUrl: URL,
    config: IDTokenConfiguration, error: inout NSError?
  ) async -> Bool {
    let url: HTTPURL
    do throws(HTTPURLError) {
      url = try HTTPURL(jwksUrl)
    } catch let reason {
      error = reason as NSError
      return false
    }
    var reason: IDTokenValidationError?
    let isValid = await validate(
      idTokenString: idTokenString, authorizationCode: authorizationCode, clientId: clientId, nonce: nonce,
      jwksUrl: url, config: config, error: &reason)
    error = reason.map { $0 as NSError }
    return isValid
  }
}
