import SessionRecords

/// Which token of which session is renewed.
struct RenewalName: Sendable, Hashable {
  let key: RecordKey
  let slot: TokenSlot
}
