/// How much is being done for whom. Who has least comes next: of the uids, and of the connections of one.
public struct RequesterLoad: Sendable {
  private var uids: [UInt32: Int] = [:]
  private var requesters: [Requester: Int] = [:]

  /// Nothing for nobody.
  public init() {}

  /// Something more is done for `requester`.
  public mutating func add(_ requester: Requester) {
    uids[requester.uid, default: 0] += 1
    requesters[requester, default: 0] += 1
  }

  /// Something is done.
  public mutating func remove(_ requester: Requester) {
    Self.decrement(&uids[requester.uid])
    Self.decrement(&requesters[requester])
  }

  /// The turn of `requester`: smaller is earlier; its uid's share counts first.
  public func turn(of requester: Requester) -> (uid: Int, connection: Int) {
    (uids[requester.uid] ?? 0, requesters[requester] ?? 0)
  }

  private static func decrement(_ count: inout Int?) {
    guard let present = count else { return }
    count = present > 1 ? present - 1 : nil
  }
}
