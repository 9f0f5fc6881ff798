import HTTPMessages
import PosternCrypto
import PosternSupport
import SessionRecords

/// Who is registered, and where: one client for each server, service provider and software statement, in this process
/// and in all that share its store.
struct AdobePassClient: Sendable {
  let registration: HTTPURL
  let token: HTTPURL
  /// The base URL, for records and errors.
  let server: String
  let serviceProvider: String
  let softwareStatement: Secret<String>
  /// Under what its credentials are stored.
  let key: RecordKey

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
  }
}
