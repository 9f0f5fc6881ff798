import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// Proofs of possession as they go out (RFC 9449 sections 4.2 and 7.1).
@Suite struct DPoPProofTests {
  static let example =
    "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"

  @Test("RFC 9449's own proof (section 4.1) is read correctly by the tests' reader")
  func vector() throws {
    let proof = try Proof(text: Self.example)
    #expect(proof.thumbprint == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
    #expect(proof["htm"] == "POST" && proof["htu"] == "https://server.example.com/token")
  }

  @Test(
    "a proof with each message: its own method, URL, time and identifier, the token's hash as RFC 9449 section 7.1 has it"
  )
  func claims() async throws {
    let token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
    let engine = Engine { request, _ in request.url.path == "/token" ? .boundToken(token) : .status(200) }
    let server = try ResourceServer.binding()
    for _ in 0..<2 {
      _ = try await engine.fetcher.fetch(ResourceRequest(path: "x?a=b", method: "POST", body: [1]), from: server)
    }
    let requests = engine.transport.requests
    let proofs = try requests.map { try Proof($0) }
    #expect(requests.count == 3 && Set(proofs.map { $0["jti"] }).count == 3 && proofs.allSatisfy { $0["jti"] != nil })
    #expect(Set(proofs.map(\.thumbprint)).count == 1, "one key")
    for proof in proofs {
      #expect(proof.header["typ"]?.stringValue == "dpop+jwt" && proof.header["alg"]?.stringValue == "ES256")
      #expect(Set(proof.header["jwk"]?.objectValue?.names ?? []) == ["kty", "crv", "x", "y"], "no private member")
      #expect(proof["htm"] == "POST" && proof.claims["iat"]?.integerValue == 1_800_000_000)
      #expect(proof["nonce"] == nil)
    }
    #expect(proofs[0]["htu"] == "https://idp.test/token" && proofs[0]["ath"] == nil)
    #expect(proofs[1]["htu"] == "https://api.test/base/x" && proofs[2]["htu"] == "https://api.test/base/x")
    #expect(proofs[1]["ath"] == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
    #expect(requests[1].fields.values(of: "Authorization") == ["DPoP \(token)"])
  }

  static let addresses: [(String, String)] = [
    ("x", "https://api.test/base/x"), ("x?y=/z#f", "https://api.test/base/x"), ("", "https://api.test/base/"),
    ("https://api.test:443/base/x", "https://api.test/base/x"), ("HTTPS://API.test/base/x", "https://api.test/base/x"),
    ("y/../x", "https://api.test/base/x"), ("%78", "https://api.test/base/x"), ("a%2fb", "https://api.test/base/a%2Fb"),
    ("A", "https://api.test/base/A"), ("x/", "https://api.test/base/x/"), ("x%3Fy", "https://api.test/base/x%3Fy"),
    ("https://cdn.test:8443/x", "https://cdn.test:8443/x"),
    ("https://xn--bcher-kva.test/", "https://xn--bcher-kva.test/"),
  ]

  @Test("htu is the address as it is sent, normalised, without query and fragment", arguments: addresses)
  func target(row: (String, String)) async throws {
    let engine = Engine { request, _ in request.url.path == "/token" ? .boundToken("t") : .status(200) }
    let server = try ResourceServer.binding(additionalOrigins: ["https://cdn.test:8443", "https://xn--bcher-kva.test"])
    _ = try await engine.fetcher.fetch(ResourceRequest(path: row.0), from: server)
    let request = try #require(engine.transport.requests.last)
    #expect(try Proof(request)["htu"] == row.1)
    #expect("\(request.url.withoutQuery)" == row.1)
  }

  @Test("each hop within the origin has a proof of its own; none crosses to another, nor comes back from there")
  func redirects() async throws {
    let engine = Engine { request, _ in
      switch request.url.description {
      case "https://idp.test/token": .boundToken("t")
      case "https://api.test/base/x": .status(303, ("Location", "y"))
      case "https://api.test/base/y": .status(307, ("Location", "https://api.test:444/base/"))
      case "https://api.test:444/base/": .status(307, ("Location", "https://api.test/base/z"))
      default: .status(200)
      }
    }
    let server = try ResourceServer.binding(additionalOrigins: ["https://api.test:444"])
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x", method: "POST", body: []), from: server)
    let hops = engine.transport.requests.dropFirst()
    #expect(hops.map { "\($0.url)" }.last == "https://api.test/base/z" && hops.count == 4)
    let own = try hops.prefix(2).map { try Proof($0) }
    #expect(own.map { $0["htm"] } == ["POST", "GET"] && own[0]["jti"] != own[1]["jti"])
    #expect(own.map { $0["htu"] } == ["https://api.test/base/x", "https://api.test/base/y"])
    for hop in hops.dropFirst(2) { #expect(hop.fields["DPoP"] == nil && hop.fields["Authorization"] == nil) }
  }

  @Test("a newer token comes with a newer proof, of the same key and with the hash of that token")
  func refreshed() async throws {
    let tokens = Counter()
    let engine = Engine { request, _ in
      if request.url.path == "/token" { return .boundToken("t\(tokens.next())") }
      return request.fields["Authorization"] == "DPoP t2"
        ? .status(200) : .status(401, ("WWW-Authenticate", #"DPoP error="invalid_token""#))
    }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .binding())
    #expect(response.status == 200 && response.attempts == 2 && response.tokenRefreshed)
    let proofs = try engine.transport.requests(to: "https://api.test/").map { try Proof($0) }
    #expect(proofs.count == 2 && proofs[0]["ath"] != proofs[1]["ath"] && proofs[0].thumbprint == proofs[1].thumbprint)
  }

  /// A resource that takes proofs by its own clock, which is `ahead` of the tests'.
  private static func judged(_ request: HTTPRequest, ahead: Int, error: String = "invalid_dpop_proof") -> HTTPResponse {
    let times = [600: "08:10:00", 0: "08:00:00", -600: "07:50:00"]
    let date = ("Date", "Fri, 15 Jan 2027 \(times[ahead] ?? "") GMT")
    let issued = (try? Proof(request))?.claims["iat"]?.integerValue ?? 0
    guard abs(Int(issued) - 1_800_000_000 - ahead) > 2 else { return .status(200, date) }
    return .status(401, date, ("WWW-Authenticate", "DPoP error=\"\(error)\""))
  }

  @Test(
    "iat is by the clock of a server that rejects a proof for it, at once, and by our own when they agree again",
    arguments: ["invalid_dpop_proof", "invalid_token"])
  func skew(error: String) async throws {
    let ahead = Locked(600)
    let engine = Engine { request, _ in
      if request.url.path == "/token" { return .boundToken("t") }
      return Self.judged(request, ahead: ahead.withLock { $0 }, error: error)
    }
    for (offset, count) in [(600, 2), (600, 3), (0, 5), (0, 6), (-600, 8)] {
      ahead.withLock { $0 = offset }
      let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .binding())
      #expect(response.status == 200 && response.attempts == 1 && !response.tokenRefreshed)
      #expect(engine.transport.requests(to: "https://api.test/").count == count)
    }
    #expect(engine.tokenRequests.count == 1)
  }

  @Test("a page with another Date at the same origin, or in another user's requests, sets the clock of proofs")
  func skewOfOthers() async throws {
    let engine = Engine { request, _ in
      if request.url.path == "/token" { return .boundToken("t") }
      let other = ("Date", "Fri, 31 Dec 2027 23:59:59 GMT")
      switch request.url.path {
      case "/base/odd": return .status(200, other)
      case "/base/rejecting": return .status(401, other, ("WWW-Authenticate", "DPoP error=\"invalid_dpop_proof\""))
      default: return Self.judged(request, ahead: 0)
      }
    }
    func fetch(_ path: String, for uid: UInt32) async throws -> Int {
      try await engine.fetcher.fetch(
        ResourceRequest(path: path), from: .binding(), options: FetchOptions(in: .uid(uid))
      ).status
    }
    for path in ["odd", "x"] { #expect(try await fetch(path, for: 1) == 200) }
    #expect(try await fetch("rejecting", for: 1) == 401)
    #expect(try await fetch("x", for: 2) == 200)
    // odd, x, rejecting twice, x: only the page that rejects by time has rejected anything.
    #expect(engine.transport.requests(to: "https://api.test/").count == 5)
    // A clock that was set wrongly is corrected by the next rejection.
    #expect(try await fetch("x", for: 1) == 200)
  }

  @Test("a server that rejects proofs although its clock is ours gets one request")
  func noSkew() async throws {
    let engine = Engine { request, _ in
      if request.url.path == "/token" { return .boundToken("t") }
      return .status(
        401, ("Date", "Fri, 15 Jan 2027 08:00:00 GMT"), ("WWW-Authenticate", #"DPoP error="invalid_dpop_proof""#))
    }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .binding())
    #expect(response.status == 401 && engine.transport.requests(to: "https://api.test/").count == 1)
  }

  @Test("a token endpoint with another clock gets one retry, by that clock")
  func issuersSkew() async throws {
    let engine = Engine { request, _ in
      let issued = (try? Proof(request))?.claims["iat"]?.integerValue ?? 0
      if abs(issued - 1_800_000_600) < 2 { return .boundToken("t") }
      return .json(#"{"error":"invalid_dpop_proof"}"#, status: 400).with(("Date", "Fri, 15 Jan 2027 08:10:00 GMT"))
    }
    let grant = ClientCredentialsGrant(issuer: try .testing(usesDPoP: true))
    #expect(try await engine.tokens.token(for: grant).type == .dpop && engine.tokenRequests.count == 2)
  }
}
