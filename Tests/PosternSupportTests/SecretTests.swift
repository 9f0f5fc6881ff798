import PosternSupport
import Testing

@Suite("Secrets are unprintable by type")
struct SecretTests {
  private struct Enclosing { let password: Secret<String> }

  @Test("no way of printing a secret, or what encloses it, shows it")
  func unprintable() {
    let secret = Secret("hunter2")
    var dumped = ""
    dump(Enclosing(password: secret), to: &dumped)
    let texts = [
      "\(secret)", String(describing: secret), String(reflecting: secret), "\(Enclosing(password: secret))",
      String(reflecting: Enclosing(password: secret)), "\([secret])", "\(["k": secret])", "\(Optional(secret) as Any)",
      dumped,
    ]
    for text in texts { #expect(!text.contains("hunter2"), "\(text)") }
    #expect(secret.reveal() == "hunter2")
  }
}
