import SessionRecords

/// Which token of which session is renewed.
struct RefreshKey: Sendable, Hashable {
  let key: RecordKey
  let slot: TokenSlot
}
