import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient
@testable import ResourceAccess

/// Nonces that servers want in proofs (RFC 9449 sections 8 and 9).
@Suite struct DPoPNonceTests {
  @Test(
    "a resource that requires a nonce gets it at once, with the same body, and the token does not count as rejected")
  func challenged() async throws {
    let engine = Engine { request, _ in
      if request.url.path == "/token" { return .boundToken("t") }
      return (try? Proof(request)["nonce"]) == "n-1" ? .status(200) : .wantsNonce("n-1")
    }
    let response = try await engine.fetcher.fetch(
      ResourceRequest(path: "x", method: "POST", body: [1, 2, 3]), from: .binding())
    #expect(response.status == 200 && response.attempts == 1 && !response.tokenRefreshed)
    let requests = engine.transport.requests(to: "https://api.test/")
    #expect(requests.map(\.body) == [[1, 2, 3], [1, 2, 3]] && engine.tokenRequests.count == 1)
    let proofs = try requests.map { try Proof($0) }
    #expect(proofs.map { $0["nonce"] } == [nil, "n-1"] && proofs[0]["jti"] != proofs[1]["jti"])
  }

  @Test("a resource that rejects every nonce gets two requests, and its answer is the result")
  func endless() async throws {
    let count = Counter()
    let engine = Engine { request, _ in
      request.url.path == "/token" ? .boundToken("t") : .wantsNonce("n-\(count.next())")
    }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .binding())
    #expect(response.status == 401 && response.attempts == 1 && count.current == 2 && engine.tokenRequests.count == 1)
  }

  static let unusable: [String?] = [nil, "", "a b", "a\"b", "a\\b", "é", String(repeating: "n", count: 1025)]

  @Test("a nonce that is not allowed in a proof is none: the answer is the result", arguments: unusable)
  func malformed(nonce: String?) async throws {
    let engine = Engine { request, _ in request.url.path == "/token" ? .boundToken("t") : .wantsNonce(nonce) }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .binding())
    #expect(response.status == 401 && engine.transport.requests(to: "https://api.test/").count == 1)
  }

  @Test("every answer may bring the next nonce; each server has its own, the issuer's are not the resource's")
  func kept() async throws {
    let count = Counter()
    let engine = Engine { request, _ in
      if request.url.path == "/token" { return .boundToken("t").with(("DPoP-Nonce", "issuer")) }
      let status = request.url.origin.port == 443 ? 200 : 404
      return .status(status, ("DPoP-Nonce", "\(request.url.origin.port)-\(count.next())"))
    }
    let server = try ResourceServer.binding(additionalOrigins: ["https://api.test:444"], issuerHost: "api.test")
    for path in ["x", "https://api.test:444/", "x", "https://api.test:444/"] {
      _ = try await engine.fetcher.fetch(ResourceRequest(path: path), from: server)
    }
    let nonces = try engine.transport.requests.dropFirst().map { try Proof($0)["nonce"] }
    #expect(nonces == [nil, nil, "443-1", "444-2"])
  }

  @Test("two nonce fields, or one without a challenge for this token, are not used")
  func ambiguous() {
    let fields = HTTPFields([.init(name: "DPoP-Nonce", value: "a"), .init(name: "dpop-nonce", value: "b")])
    #expect(DPoPTerms.nonce(in: fields) == nil)
    #expect(DPoPTerms.nonce(in: HTTPFields([.init(name: "dpop-nonce", value: "!#[]~")])) == "!#[]~")
  }

  @Test("what very many servers want of one user's proofs makes those of another be forgotten")
  func bounded() throws {
    let prover = DPoPProver(clock: ManualClock())
    let key = try DPoPKey.generate()
    let answer = HTTPResponse.status(200, ("DPoP-Nonce", "n"))
    func scopes(_ uid: UInt32, _ count: Int) throws -> [DPoPProof.Scope] {
      try (1...count).map { number in
        let origin = try HTTPURL("https://h\(number).test/").origin
        let scope = DPoPProof.Scope(origin: origin, thumbprint: key.thumbprint, uid: uid)
        prover.learn(
          from: answer, to: DPoPProof(scope: scope, terms: DPoPTerms(), madeAt: ManualClock().wallNow), nil)
        return scope
      }
    }
    let (few, many) = (try scopes(1, 10), try scopes(2, DPoPProver.capacity + 100))
    #expect(few.allSatisfy { prover.terms(at: $0).nonce == "n" })
    #expect(many.count { prover.terms(at: $0).nonce == "n" } == DPoPProver.capacity - 10)
  }

  @Test("nonces that a server gives to each key are taken for everybody's")
  func eachKeys() async throws {
    let bench = try DPoPBench { request in
      guard request.url.origin.host == "api.test" else { return nil }
      let proof = try? Proof(request)
      let own = "n-\(proof?.thumbprint ?? "")"
      return proof?["nonce"] == own ? .status(200, ("DPoP-Nonce", own)) : .wantsNonce(own)
    }
    let sessions = [try await bench.session(), try await bench.session()]
    for _ in 0..<3 {
      for session in sessions { #expect(try await bench.fetch(session).status == 200) }
    }
    // One rejection for each key, and none afterwards.
    #expect(bench.transport.requests(to: "https://api.test/").count == 8)
  }

  @Test("a retry has a nonce that another request got meanwhile, not that of its own rejection")
  func ownAnswers() throws {
    let prover = DPoPProver(clock: ManualClock())
    let key = try DPoPKey.generate()
    var request = HTTPRequest(method: "GET", url: try HTTPURL("https://api.test/"), fields: HTTPFields())
    let proof = try prover.prove(&request, with: key, for: 1)
    let terms = prover.learn(from: .wantsNonce("mine"), to: proof, .nonce)
    prover.learn(from: .status(200, ("DPoP-Nonce", "later")), to: proof, nil)
    _ = try prover.prove(&request, with: key, by: terms, for: 1)
    #expect(try Proof(request)["nonce"] == "mine")
    _ = try prover.prove(&request, with: key, for: 1)
    #expect(try Proof(request)["nonce"] == "later")
  }

  @Test(
    "a token endpoint that requires a nonce gets one retry, with a new proof and client assertion",
    arguments: [400, 401])
  func tokenEndpoint(status: Int) async throws {
    let engine = Engine { request, _ in
      guard request.url.path == "/token" else { return .status(200) }
      return (try? Proof(request)["nonce"]) == "n" ? .boundToken("t") : .tokenWantsNonce("n", status: status)
    }
    let issuer = try Issuer.testing(
      authentication: PrivateKeyJWT(key: .generateEC(.p256), clock: engine.clock), usesDPoP: true)
    let token = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer))
    #expect(token.type == .dpop)
    let forms = engine.tokenRequests.map { FormEncoding.decode(String(decoding: $0.body ?? [], as: UTF8.self)) ?? [] }
    let assertions = forms.map { form in form.first { $0.name == "client_assertion" }?.value }
    #expect(assertions.count == 2 && Set(assertions).count == 2)
    _ = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer, scope: "other"))
    #expect(try engine.tokenRequests.map { try Proof($0)["nonce"] } == [nil, "n", "n"])
  }

  @Test("a token endpoint that rejects every nonce, or gives none, rejects the request", arguments: [true, false])
  func tokenEndpointEndless(namesNonce: Bool) async throws {
    let count = Counter()
    let engine = Engine { _, _ in
      let number = count.next()
      return .tokenWantsNonce(namesNonce ? "n-\(number)" : nil)
    }
    let issuer = try Issuer.testing(usesDPoP: true)
    let error = await #expect(throws: TokenError.self) {
      try await engine.tokens.token(for: ClientCredentialsGrant(issuer: issuer))
    }
    #expect(error?.oauthError?.code == "use_dpop_nonce" && count.current == (namesNonce ? 2 : 1))
  }
}
