import HTTPMessages
import PosternSupport

/// The parts of a loop that all its transfers share.
struct LoopResources {
  let connections: ConnectionCount
  let libcurlDecodings = LibcurlDecodings()
  let receiveQueue = ReceiveQueue()
  let keptBodies = KeptBodies()
  let files: TrustFiles
  /// The clock of the deadlines.
  let clock: any EngineClock
  /// The clock of everything that libcurl measures, too.
  let uptime = SystemClock()

  init(_ configuration: CurlTransport.Configuration, connections: ConnectionCount) {
    self.connections = connections
    files = TrustFiles(report: configuration.fileReport)
    clock = configuration.clock
  }
}

/// The streams with content codings that libcurl undoes, one of each uid: for a stream that is paused libcurl keeps up
/// to 64 MiB of what its reader has not taken. Owned by the loop.
final class LibcurlDecodings {
  private var uids: Set<UInt32> = []

  /// A stream of `uid` begins; false when there is one.
  func insert(_ uid: UInt32) -> Bool { uids.insert(uid).inserted }

  /// The stream of `uid` is over.
  func remove(_ uid: UInt32) { uids.remove(uid) }
}

/// The streams of which an iteration of the loop has received something: their readers are woken at its end, once for
/// all pieces. Owned by the loop.
final class KeptBodies {
  private var controls: [TransferControl] = []

  /// Something was kept in `control`.
  func add(_ control: TransferControl) {
    if controls.last !== control { controls.append(control) }
  }

  /// Wakes the readers.
  func handOn() {
    guard !controls.isEmpty else { return }
    for control in controls { control.handOn() }
    controls.removeAll(keepingCapacity: true)
  }
}
