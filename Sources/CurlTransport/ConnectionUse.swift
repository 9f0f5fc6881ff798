import HTTPMessages
import PosternSupport

/// The exchanges that may follow each other over one connection.
///
/// Between uids, and between calls through different endpoints, nothing is shared. A request without a body leaves
/// nothing behind that a server could answer later, so that those of all users of one program may share connections;
/// one over which a body of a user's request has gone is this user's.
struct ConnectionUse: Hashable {
  private enum Users: Hashable {
    /// Requests with no user's token.
    case none
    /// Requests of all users, none of which has a body.
    case all
    case one(Secret<String>)
  }

  /// The uid (`PeerID.process`'s for what the process does itself).
  let uid: UInt32
  private let narrowing: String?
  private let users: Users

  /// The use by an exchange for `uid` in that part of its calls. `hasBody`: whether its request has bytes of a body.
  init(by uid: UInt32, in partition: ConnectionPartition, hasBody: Bool) {
    self.uid = uid
    narrowing = partition.narrowing
    users =
      switch partition.user {
      case nil: .none
      case let user?: hasBody ? .one(user) : .all
      }
  }

  /// A number for libcurl, which compares no more; 0 has another meaning there. Two uses that have the same number are
  /// told apart by `ConnectionCheck`.
  var scope: UInt32 {
    var hasher = Hasher()
    hash(into: &hasher)
    return max(1, UInt32(truncatingIfNeeded: hasher.finalize()))
  }
}
