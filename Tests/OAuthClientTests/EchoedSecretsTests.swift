import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient
@testable import Sessions

/// The texts of an issuer's error that a caller gets: never a secret of the request.
@Suite struct EchoedSecretsTests {
  static let rows: [(body: String, code: String?, description: String?)] = [
    (#"{"error":"invalid_grant","error_description":"token r-secret-1 is spent"}"#, "invalid_grant", nil),
    (
      #"{"error":"invalid_grant","error_description":"token r%2Dsecret is spent"}"#, "invalid_grant",
      "token r%2Dsecret is spent"
    ),
    (#"{"error":"bad_r-secret-1"}"#, nil, nil),
    (#"{"error":"invalid_grant","error_description":"spent"}"#, "invalid_grant", "spent"),
    (#"{"error":"invalid_grant","error_description":"R-SECRET-1 is spent"}"#, "invalid_grant", nil),
    (#"{"error":"invalid_grant","error_description":"r-secret-1\u0301 is spent"}"#, "invalid_grant", nil),
    (#"{"error":"invalid_grant","error_description":"\u0600r-secret-1"}"#, "invalid_grant", nil),
    // In base64 by itself, behind one and behind two bytes more, and in lower case.
    (#"{"error":"invalid_grant","error_description":"token ci1zZWNyZXQtMQ=="}"#, "invalid_grant", nil),
    (#"{"error":"invalid_grant","error_description":"token OnItc2VjcmV0LTE="}"#, "invalid_grant", nil),
    (#"{"error":"invalid_grant","error_description":"token YTpyLXNlY3JldC0x"}"#, "invalid_grant", nil),
    (#"{"error":"invalid_grant","error_description":"token ci1zzwnyzxqtmq"}"#, "invalid_grant", nil),
  ]

  @Test("words that repeat a secret are left out, the code stays", arguments: rows)
  func echo(row: (body: String, code: String?, description: String?)) async throws {
    let bench = try SessionBench()
    bench.provider.withLock { $0.answers = [.json(row.body, status: 400)] }
    let error = await #expect(throws: SessionError.self) {
      try await bench.sessions.create(from: .refreshToken(Secret("r-secret-1")), at: bench.issuer, in: .uid(1))
    }
    guard case .tokenEndpoint(let failure)? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(failure.oauthError?.code == row.code && failure.oauthError?.description == row.description)
    #expect(!"\(failure) \(String(describing: error))".contains("r-secret-1"))
  }

  @Test("the secret of HTTP Basic credentials is one too, although it goes out encoded")
  func basic() throws {
    var request = TokenEndpointRequest(
      endpoint: try HTTPURL("https://idp.test/token"), issuer: "https://idp.test", fields: HTTPFields(), form: [],
      options: TransferOptions())
    try ClientSecretBasic(secret: Secret("p@ss word/%&+")).authenticate(&request, as: "odd:client+1")
    for text in ["p@ss word/%&+ is wrong", "p%40ss+word%2F%25%26%2B is wrong"] {
      let body = JSONWriter().write(["error": "invalid_client", "error_description": .string(text)])
      let answer = request.withoutEcho(.json(String(decoding: body, as: UTF8.self), status: 401))
      #expect(String(decoding: answer.body, as: UTF8.self) == #"{"error":"invalid_client"}"#)
    }
  }

  @Test("a registered code stays what it is although a short secret is a part of it: invalid_grant ends a session")
  func shortSecret() async throws {
    let bench = try SessionBench()
    bench.provider.withLock { $0.answers = [.json(#"{"error":"invalid_grant"}"#, status: 400)] }
    let error = await #expect(throws: SessionError.self) {
      try await bench.sessions.create(from: .refreshToken(Secret("grant")), at: bench.issuer, in: .uid(1))
    }
    #expect(error?.upstreamCode == "invalid_grant")
  }
}
