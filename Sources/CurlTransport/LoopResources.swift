import PosternSupport

/// The parts of a loop that all its transfers share.
struct LoopResources {
  let connections: ConnectionCount
  let codedStreams = CodedStreams()
  let receiveQueue = ReceiveQueue()
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
