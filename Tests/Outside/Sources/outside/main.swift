import AuthEngine
import Crypto
import Foundation
import PosternKit
import PosternURLLoading

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The first calls of proto-docs/swift.md in a program of another package, in the order of the page. The test of this
// package starts the servers of the configuration, plays the browser, and reads the output.

let postern = try await Postern(configuration: "postern.yaml")

// An anonymous request.
let time = try await postern.fetch("text", from: "time")
print("time", time.status, time.text ?? "")

// A user's request.
let session = try await postern.sessions.login { url in print("open \(url)") }
let orders = try await postern.fetch("orders", from: "orders", session: session.handle)
print("orders", orders.status, try orders.json())

// An ID token.
let (idToken, nonce) = (CommandLine.arguments[1], CommandLine.arguments[2])
let verdict = try await postern.validateIDToken(idToken, nonce: nonce)
print("token", verdict.claims?["sub"]?.stringValue ?? "invalid: \(verdict.fault?.message ?? "")")

// The access manager's login: its answers are known here.
let answers = JourneyAnswers(["NameCallback": "alice", "PasswordCallback": "alice-password"])
guard case .completed(let end) = try await postern.journeys.authenticate(answers: answers), let strong = end.session
else { fatalError("the login was rejected") }

// Decisions.
let decided = await postern.preauthorize(["https://shop.test/open/news", "https://shop.test/denied"], session: strong)
for decision in decided.decisions {
  print("decision", decision.id, decision.isAuthorized)
}

// A request that requires the password once more.
let payment = try await postern.fetch(ResourceRequest(path: "service/pay"), from: "bank", session: strong) {
  advices, session in
  let outcome = try? await postern.authenticate(with: advices, session: session, answers: answers)
  guard case .completed? = outcome else { return false }
  return true
}
print("payment", payment.status, payment.advicesSatisfied.map(\.type))

// Sessions, and the store that they are in.
for session in try await postern.sessions.all() { print("session", session.subject ?? "") }
try await postern.sessions.end(session.handle)
try await postern.sessions.end(strong)
try await postern.store.check()
await postern.close()

// Names of swift-crypto and of Foundation, next to those of the engine.
let key = SymmetricKey(size: .bits256)
let sealed = try AES.GCM.seal(Data("secret".utf8), using: key)
let opened = try AES.GCM.open(sealed, using: key)
let signing = P256.Signing.PrivateKey()
let signature = try signing.signature(for: opened)
let code = HMAC<SHA256>.authenticationCode(for: opened, using: key)
let isGenuine =
  signing.publicKey.isValidSignature(signature, for: opened)
  && HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: opened, using: key)
let secret = Secret(SHA256.hash(data: opened).description)
let same = try HTTPURL(URL(string: "https://api.example.com/")!)
let agreement = Curve25519.KeyAgreement.PrivateKey().publicKey.rawRepresentation.count
print("names", isGenuine, secret, URL(same), agreement, URLError(.timedOut).code == .timedOut)
