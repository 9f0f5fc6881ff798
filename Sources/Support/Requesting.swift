/// For whose call the running task works: what is done in turns of users knows by it whose turn it is.
public enum Requesting {
  /// The user id of the call's peer; nil: the sidecar does something by itself.
  @TaskLocal public static var uid: UInt32?
}
