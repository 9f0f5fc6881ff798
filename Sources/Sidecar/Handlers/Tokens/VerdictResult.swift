import AuthEngine
import PosternJSON
import PosternProtocol

// The engine's verdicts as results.

extension PosternProtocol.TokenVerdict {
  init(_ verdict: AuthEngine.TokenVerdict) {
    switch verdict {
    case .valid(let claims, let header, let key, let cached):
      self.init(valid: true)
      self.claims = .object(claims)
      self.header = .object(header)
      self.key = PosternProtocol.VerificationKey(kid: key.kid, alg: key.alg, thumbprint: key.thumbprint)
      self.cached = cached
    case .invalid(let fault): self.init(fault)
    }
  }

  init(_ fault: TokenFault) {
    self.init(valid: false)
    error = TokenViolation(fault)
  }
}

extension IntrospectToken.Result {
  init(_ verdict: IntrospectionVerdict) {
    switch verdict {
    case .valid(let claims):
      self.init(valid: true)
      self.claims = .object(claims)
    case .invalid(let fault):
      self.init(valid: false)
      error = TokenViolation(fault)
    }
  }
}

extension TokenViolation {
  init(_ fault: TokenFault) {
    self.init(
      code: fault.code.rawValue, message: fault.message, claim: fault.claim, expected: fault.expected,
      actual: fault.actual)
  }
}
