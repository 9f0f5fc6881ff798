/// The requests the sidecar sends to a caller that registered for them (wire.md section 6).
public enum DelegateMethod: String, SchemaEnumeration, Sendable, Hashable {
  case onPolicyAdviceReceived = "delegate.onPolicyAdviceReceived"
  case evaluateAuthorizationPolicy = "delegate.evaluateAuthorizationPolicy"
  case updateRequest = "delegate.updateRequest"
  case evaluateTokenRefresh = "delegate.evaluateTokenRefresh"
}
