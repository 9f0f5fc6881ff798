import HTTPMessages
import PosternSupport

extension AdviceRecognizer {
  private static let maxACRValues = 32

  /// In `WWW-Authenticate`: every challenge that is one of advice, in order.
  func advices(inChallengesOf fields: HTTPFields) -> [PolicyAdvice] {
    CompositeAdvice.distinct(AuthenticationChallenge.all(in: fields).flatMap(advices(in:)))
  }

  private func advices(in challenge: AuthenticationChallenge) -> [PolicyAdvice] {
    if challenge.isScheme("SSOADVICE") { return policyAdvices(in: challenge) }
    if challenge.isScheme("UMA") {
      guard let ticket = challenge["ticket"], (1...CompositeAdvice.maxValueBytes).contains(ticket.utf8.count) else {
        return []
      }
      return [PolicyAdvice(type: PolicyAdvice.Name.umaTicket, value: ticket, realm: challenge["realm"])]
    }
    guard challenge.isScheme("Bearer") || challenge.isScheme("DPoP"),
      challenge["error"] == PolicyAdvice.Name.insufficientUserAuthentication
    else { return [] }
    return [authenticationAdvice(in: challenge)]
  }

  /// `SSOADVICE realm="/",advices="<base64 of a JSON map>",am_uri="…"`.
  private func policyAdvices(in challenge: AuthenticationChallenge) -> [PolicyAdvice] {
    guard challenge["am_uri"].map({ isOfAccessManager($0, from: nil) }) ?? true,
      let encoded = challenge["advices"], let json = AdviceText.base64(encoded)
    else { return [] }
    return AdviceMap.advices(in: json, bare: .accepted, realm: challenge["realm"])
  }

  /// RFC 9470 section 3; a `max_age` that is none is not asked for.
  private func authenticationAdvice(in challenge: AuthenticationChallenge) -> PolicyAdvice {
    let contexts = challenge["acr_values"].map { $0.split(atByte: " ").prefix(Self.maxACRValues).map(String.init) }
    let age = challenge["max_age"].flatMap { text in
      text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }
    return .insufficientUserAuthentication(acrValues: contexts.flatMap { $0.isEmpty ? nil : $0 }, maxAge: age)
  }
}
