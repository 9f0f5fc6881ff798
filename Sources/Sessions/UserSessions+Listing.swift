import SessionRecords

extension UserSessions {
  /// How many records are read and looked into at a time; between the pieces everybody else has a turn.
  static let pieceSize = 16

  /// Calls `body` with the sessions of `owner` behind `position` (0: from the first on) and the position of each, the
  /// oldest first, until it returns false.
  ///
  /// A session keeps its position, so that whoever goes on behind the last one sees none twice, and none is left out
  /// that was there all the time.
  public func forEachSession(
    ownedBy owner: UInt32, after position: Int64 = 0, _ body: (Session, Int64) -> Bool
  ) async throws(SessionError) {
    var start: Int64? = position
    while let position = start {
      let page: RecordPage
      do throws(StoreError) {
        page = try await store.records(in: .session, ownedBy: owner, after: position, atMost: Self.pieceSize)
      } catch {
        throw SessionError(error)
      }
      for entry in page.entries {
        guard let session = await session(in: entry.record) else { continue }
        guard body(session, entry.position) else { return }
      }
      start = page.next
      guard start != nil else { return }
      guard !Task.isCancelled else { throw SessionError(.cancelled, "the list was cancelled") }
      // A store that never waits would not let anybody in between.
      await Task.yield()
    }
  }

  /// The session that a record holds; nil when there is none yet, or it cannot be read.
  private func session(in record: StoredRecord) async -> Session? {
    guard let contents = SessionContents(record), let handle = try? SessionHandle(contents.handle) else {
      observer?.observe(.troubled("a session of the store cannot be read", detail: "\(record.key)"))
      return nil
    }
    return contents.isReserved ? (try? await unsavedCreation(record))?.session : contents.session(handle)
  }
}
