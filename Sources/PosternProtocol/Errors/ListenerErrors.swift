public import PosternJSONRPC

/// Errors of the gateway's listener, before a request has become a call.
extension RPCErrorCode {
  public static let malformedRequest = RPCErrorCode(
    -32030, "malformed_request", "Not a valid HTTP request, or one with two readings")
  public static let requestTooLarge = RPCErrorCode(
    -32031, "request_too_large", "A part of the HTTP request is over its size limit")
  public static let unsupported = RPCErrorCode(-32032, "unsupported", "HTTP that a gateway does not forward")
  public static let misdirected = RPCErrorCode(
    -32033, "misdirected", "The request is for a host that is not served here")
  public static let webPage = RPCErrorCode(-32034, "web_page", "Requests of web pages are not accepted")
  public static let keyRequired = RPCErrorCode(
    -32035, "key_required", "The key of gateway.listen.keyFile is missing, or another one")
  public static let requestTimeout = RPCErrorCode(
    -32036, "request_timeout", "The HTTP request did not come in time")

  /// All of them.
  public static let listener = [
    malformedRequest, requestTooLarge, unsupported, misdirected, webPage, keyRequired, requestTimeout,
  ]
}
