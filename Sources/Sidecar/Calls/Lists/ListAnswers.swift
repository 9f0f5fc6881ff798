import PosternCrypto
package import PosternJSONRPC
package import PosternProtocol
import PosternSupport

/// Answers methods that list something: away from the threads that serve connections, one list of a uid at a time, a
/// page at a time.
package struct ListAnswers: Sendable {
  let computation: CPUOffload
  let limiter: ListLimiter
  private let cursors = ListCursors()

  package init(computation: CPUOffload) {
    self.computation = computation
    limiter = ListLimiter(clock: computation.clock)
  }

  /// The page that `params` ask for: `body` adds entries behind the given position (0: from the first on) until the
  /// page takes no more, and lets other calls run now and then.
  package func page<Result: PageResult>(
    _ params: PageParams, _ context: CallContext,
    _ body: @escaping @Sendable (Int64, ListPage<Result>) async throws(RPCFault) -> Void
  ) async throws(RPCFault) -> Written<Result> {
    let limit = params.limit ?? PageParams.usual
    guard (1...PageParams.most).contains(limit) else {
      throw .invalidParams("limit must be from 1 to \(PageParams.most)", path: "/limit")
    }
    let start = try position(params.cursor, of: "\(Result.member)", context)
    let peer = context.caller.peerID
    do throws(ConcurrencyLimiter.Rejection) {
      try await limiter.enter(peer, entries: limit, until: context.deadline)
    } catch {
      throw error.fault("Too many lists of this user under way")
    }
    defer { limiter.leave(peer, entries: limit) }
    return try await computation.run(context) { () async throws(RPCFault) in
      let page = ListPage<Result>(limit: limit, moment: start.moment)
      try await body(start.entry, page)
      return try page.finished { position throws(CryptoError) in
        try cursors.cursor(position, of: "\(Result.member)", for: context.uid)
      }
    }
  }

  private func position(
    _ cursor: String?, of member: String, _ context: CallContext
  ) throws(RPCFault) -> ListCursors.Position {
    guard let cursor else { return ListCursors.Position(entry: 0) }
    guard let position = cursors.position(cursor, of: member, for: context.uid) else {
      throw .invalidParams("cursor is no nextCursor of this list and user: start again without one", path: "/cursor")
    }
    return position
  }
}
