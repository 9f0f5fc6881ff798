import HTTPMessages
import PosternJSON
import PosternSupport
import SessionRecords

/// A client's credentials, as registration gave them. They never expire; registering again would cost the users their
/// logins.
struct AdobePassRegistration: RecordContents {
  static let currentFormat = 1
  private static let maxBytes = 16 << 10

  var format = Self.currentFormat
  let server: String
  let serviceProvider: String
  let clientID: String
  let clientSecret: String

  /// What the registration endpoint answered; nil when these are no credentials.
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
  }

  /// The credentials in a record of this format; nil when there are none of that client.
  static func current(_ record: StoredRecord, of client: AdobePassClient) -> AdobePassRegistration? {
    read(record).flatMap {
      $0.format == currentFormat && $0.server == client.server && $0.serviceProvider == client.serviceProvider
        ? $0 : nil
    }
  }

  /// The record that holds them.
  func record(for client: AdobePassClient, version: UInt64) -> StoredRecord? {
    bytes.map { StoredRecord(key: client.key, owner: 0, version: version, expiresAt: nil, contents: $0) }
  }
}

extension AdobePassRegistration: CustomStringConvertible, CustomReflectable {
  /// Without the credentials.
  var description: String { "the registration at \(server) for \(serviceProvider)" }
  /// Without children, so that no dump shows the secret.
  var customMirror: Mirror { Mirror(self, children: []) }
}
