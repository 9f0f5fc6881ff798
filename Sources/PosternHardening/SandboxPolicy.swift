/// What a process still may do with files and the network once it is in its sandbox. Everything else is forbidden to
/// it.
public struct SandboxPolicy: Sendable, Equatable {
  /// Files, and directories with everything beneath them, that may be read.
  public var readable: Set<String>
  /// Directories in which and beneath which files may be read by those who know their names.
  public var openable: Set<String>
  /// Directories beneath which files may be made, written and removed, and read.
  public var writable: Set<String>
  /// Directories in which sockets may be made and removed.
  public var socketDirectories: Set<String>
  /// The TCP ports that may be connected to, on every machine; nil for all.
  public var connectPorts: Set<UInt16>?
  /// The TCP ports that may be listened on; 0 stands for whichever the kernel chooses.
  public var bindPorts: Set<UInt16>

  /// A policy of these parts; nothing is allowed unless it is said.
  public init(
    readable: Set<String> = [], openable: Set<String> = [], writable: Set<String> = [],
    socketDirectories: Set<String> = [],
    connectPorts: Set<UInt16>? = [], bindPorts: Set<UInt16> = []
  ) {
    self.readable = readable
    self.openable = openable
    self.writable = writable
    self.socketDirectories = socketDirectories
    self.connectPorts = connectPorts
    self.bindPorts = bindPorts
  }
}
