import OAuthClient
import PosternJSON
import SessionRecords

extension DPoPKey {
  /// The key of a record, if it has one. One that cannot be read is an error: the next token would be bound to no key.
  static func recorded(_ record: JSONValue?) throws(SessionError) -> DPoPKey? {
    guard let record else { return nil }
    guard let key = DPoPKey(record: record) else {
      throw SessionError(StoreError(.corrupted, "the record's key for proofs of possession cannot be read"))
    }
    return key
  }
}
