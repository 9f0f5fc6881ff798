import HTTPMessages
import PosternSupport

/// The parts of a loop that all its transfers share.
struct LoopResources {
  let connections: ConnectionCount
  let codedStreams = CodedStreams()
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
