import OAuthClient
import PosternSupport

extension KeySetError {
  /// What a waiter of a shared request is told.
  init(_ error: SingleFlightError<KeySetError>) {
    switch error {
    case .failed(let error): self = error
    case .cancelled: self.init(.cancelled, "the caller was cancelled")
    case .deadlineExceeded: self.init(.deadlineExceeded, "the deadline passed before there was a key set")
    }
  }

  /// What it means for the key set that its issuer's metadata cannot be had.
  init(discovery error: SingleFlightError<DiscoveryError>) {
    switch error {
    case .failed(let error):
      self.init(
        error.kind == .issuerMismatch ? .discoveryIssuerMismatch : .discoveryFailed, error.detail,
        status: error.status, isRetryable: error.isRetryable)
    case .cancelled, .deadlineExceeded:
      self.init(.discoveryFailed, "the issuer's metadata did not come in time", isRetryable: true)
    }
  }
}
