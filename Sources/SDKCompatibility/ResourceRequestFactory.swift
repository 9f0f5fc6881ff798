public import HTTPMessages
public import PosternJSON
public import ResourceAccess

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

  /// A request with files and fields of a `multipart/form-data` body, behind `parameters` as plain fields.
  ///
  /// Only POST is accepted when it is sent, and no `Content-Type` of its own.
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
