import Entitlements
import HTTPMessages
import OAuthClient
import PosternCrypto
import PosternJSON
import PosternSupport
import SessionRecords

/// The identity of a registered client: one for each server, service provider and software statement, in this process
/// and in all that share its store.
struct AdobePassClient: Sendable {
  let registration: HTTPURL
  let token: HTTPURL
  /// The base URL, for records and errors.
  let server: String
  let serviceProvider: String
  let softwareStatement: Secret<String>
  /// The key of the record with its credentials.
  let key: RecordKey
  /// The key of the record with its access token.
  let tokenKey: RecordKey

  init(
    baseURL: HTTPURL, serviceProvider: String, softwareStatement: Secret<String>
  ) throws(HTTPURLError) {
    registration = try baseURL.appending(relativePath: "o/client/register")
    token = try baseURL.appending(relativePath: "o/client/token")
    server = baseURL.withoutQuery.description
    self.serviceProvider = serviceProvider
    self.softwareStatement = softwareStatement
    let statement = HashFunction.sha256.hash(Array(softwareStatement.reveal().utf8))
    let parts = [server, serviceProvider, Base64URL.string(statement)]
    key = RecordKey(collection: .registration, id: HashFunction.sha256.hash("adobe-pass", of: parts))
    tokenKey = RecordKey(collection: .registration, id: HashFunction.sha256.hash("adobe-pass-token", of: parts))
  }
}

/// A client's credentials from its registration. They never expire; registering again would cost the users their
/// logins.
struct AdobePassRegistration: RecordContents {
  static let currentFormat = 1
  private static let maxBytes = 16 << 10
  /// The scope that the API requires.
  static let scope = "api:client:v2"

  var format = Self.currentFormat
  let server: String
  let serviceProvider: String
  let clientID: String
  let clientSecret: String
  /// The scopes that the registration named; nil where it named none.
  let scopes: [String]?

  /// Whether the API will reject every token of the client: its software statement is for another one.
  var lacksScope: Bool { scopes.map { !$0.contains(Self.scope) } ?? false }

  /// Reads the registration endpoint's answer; nil when it has no credentials.
  init?(_ response: HTTPResponse, of client: AdobePassClient) {
    let document = try? DecisionReply.parser.parse(response.body)
    guard response.status == 200 || response.status == 201,
      let clientID = document?["client_id"]?.stringValue, let clientSecret = document?["client_secret"]?.stringValue,
      [clientID, clientSecret].allSatisfy({ (1...Self.maxBytes).contains($0.utf8.count) })
    else { return nil }
    server = client.server
    serviceProvider = client.serviceProvider
    self.clientID = clientID
    self.clientSecret = clientSecret
    scopes = document?["scopes"]?.arrayValue?.prefix(64).compactMap(\.stringValue)
  }

  /// Returns the credentials in a record of this format; nil when they are not those of `client`.
  static func current(_ record: StoredRecord, of client: AdobePassClient) -> AdobePassRegistration? {
    read(record).flatMap {
      $0.format == currentFormat && $0.server == client.server && $0.serviceProvider == client.serviceProvider
        ? $0 : nil
    }
  }

  /// Returns the record with the credentials.
  func record(for client: AdobePassClient, version: UInt64) -> StoredRecord? {
    bytes.map { StoredRecord(key: client.key, uid: 0, version: version, expiresAt: nil, contents: $0) }
  }
}

extension AdobePassRegistration: CustomStringConvertible, CustomReflectable {
  /// A description without the credentials.
  var description: String { "the registration at \(server) for \(serviceProvider)" }
  /// Without children, so that no dump shows the secret.
  var customMirror: Mirror { Mirror(self, children: []) }
}

/// An access token of a registered client.
struct AdobePassToken: Sendable {
  /// The shortest lifetime that a new token is given: a wrong clock must not lead to a token for each request, and a
  /// 401 shows an expired one soon enough.
  private static let shortestLife = Duration.seconds(60)

  let value: Secret<String>
  /// The id of the client that it was issued to.
  let clientID: String
  /// Counts upwards.
  var generation: UInt64
  /// The time from which it is no longer used.
  let usableUntil: MonotonicInstant

  /// Returns the token that a process stored for `client`, where it may still be used.
  static func stored(
    _ record: StoredRecord, of clientID: String, generation: UInt64, at now: (MonotonicInstant, wall: Timestamp)
  ) -> AdobePassToken? {
    guard let contents = AdobePassStoredToken.read(record), contents.format == AdobePassStoredToken.currentFormat,
      contents.clientID.hasSameBytes(as: clientID), let end = record.expiresAt, end > now.wall
    else { return nil }
    return AdobePassToken(
      value: Secret(contents.token), clientID: clientID, generation: generation, usableUntil: now.0 + (end - now.wall))
  }

  /// Returns the record with the token, in place of `previous`.
  func record(of client: AdobePassClient, after previous: StoredRecord?, at now: (MonotonicInstant, wall: Timestamp))
    -> StoredRecord?
  {
    AdobePassStoredToken(token: value.reveal(), clientID: clientID).bytes.map {
      StoredRecord(
        key: client.tokenKey, uid: 0, version: (previous?.version ?? 0) + 1,
        expiresAt: now.wall + (usableUntil - now.0),
        contents: $0)
    }
  }

  /// Returns the lifetime of the token of `answer` from now on: `expires_in` seconds from `created_at` in milliseconds,
  /// by the server's own clock where the answer has its time, because an answer may contain an older token.
  static func life(of answer: TokenResponse, in response: HTTPResponse, at now: Timestamp) -> Duration {
    let document = try? DecisionReply.parser.parse(response.body)
    guard let given = document?["created_at"]?.integerValue, (1...253_402_300_799_999).contains(given) else {
      return answer.lifetime
    }
    // A number too small for milliseconds is one of seconds.
    let created = Timestamp(millisecondsSinceEpoch: given < 100_000_000_000 ? given * 1000 : given)
    let serverNow = response.fields["Date"].flatMap({ HTTPDate.parse($0) }) ?? now
    let left = answer.lifetime - max(.zero, serverNow - created)
    return min(answer.lifetime, max(left, shortestLife))
  }
}

/// An access token in the store. Its record expires when the token is no longer used.
private struct AdobePassStoredToken: RecordContents {
  static let currentFormat = 1

  var format = Self.currentFormat
  @KeptSecret var token: String
  let clientID: String

  init(token: String, clientID: String) {
    _token = KeptSecret(wrappedValue: token)
    self.clientID = clientID
  }
}
