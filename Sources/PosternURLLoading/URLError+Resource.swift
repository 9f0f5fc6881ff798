public import AuthEngine
public import Foundation
import PosternSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLError {
  /// The engine's error for a request, with its outcome; nil where the error is not the engine's.
  public var resourceError: ResourceError? { userInfo[NSUnderlyingErrorKey] as? ResourceError }

  /// Makes the nearest error of URL sessions, with `error` as its cause.
  init(_ error: ResourceError) {
    var userInfo = error.errorUserInfo
    userInfo[NSUnderlyingErrorKey] = error
    userInfo[NSLocalizedDescriptionKey] = "\(error)"
    self.init(Self.code(of: error.code), userInfo: userInfo)
  }

  init(_ code: URLError.Code, detail: String) {
    self.init(code, userInfo: [NSLocalizedDescriptionKey: detail])
  }

  private static func code(of code: ErrorCode) -> URLError.Code {
    switch code {
    case .notAuthenticated, .notImplicitlyAuthenticated, .deviceNotAuthenticated, .sessionNotFound, .tokenEndpointError,
      .adviceRequired, .adviceFailed, .interactionRequired:
      .userAuthenticationRequired
    case .tokenEndpointUnreachable, .serverUnreachable: .cannotConnectToHost
    case .networkUnreachable: .notConnectedToInternet
    case .tlsFailure: .secureConnectionFailed
    case .pinMismatch: .serverCertificateUntrusted
    case .responseTooLarge: .dataLengthExceedsMaximum
    case .protocolError: .badServerResponse
    case .payloadEncryptionFailed: .cannotDecodeContentData
    case .invalidURL, .originNotAllowed: .badURL
    case .deadlineExceeded: .timedOut
    case .requestCancelled: .cancelled
    case .overloaded, .storeUnavailable: .resourceUnavailable
    default: .unknown
    }
  }
}
