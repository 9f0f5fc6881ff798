extension ConnectionChannelHandler {
  /// Closes the connection when the process that connected had ended at the last look, too: what it left to be read has
  /// been read by then, and a connection that nobody holds has ended by itself. Whoever still holds it is not whom the
  /// kernel vouches for.
  ///
  /// False when the kernel cannot tell now.
  func checkPeerProcess() -> Bool {
    guard isActive, !isLingering else { return true }
    switch PeerProcess.observe(socket: descriptor) {
    case .unsupported: return false
    case .observable(let process) where process.isAlive: return true
    case .observable, .exited:
      if peerHasEnded { closeNow(.peerEnded) }
      peerHasEnded = true
      return true
    }
  }
}
