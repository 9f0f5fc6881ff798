import CPosternCurl
import HTTPMessages

/// Which directions of a transfer libcurl pauses, and why: its control, or too many pieces of the body in one iteration
/// of the loop. A state machine; `ResponseReception` calls libcurl.
struct ReceiveFlow {
  /// The directions that libcurl pauses.
  private var paused = CURLPAUSE_CONT
  /// The iteration of the loop in which libcurl last handed over a piece of the body, and how many in it.
  private var received = (iteration: UInt64(0), callbacks: 0)
  /// Paused after too many of them, until the receive queue resumes it.
  private(set) var isQueued = false
  /// libcurl waits for more of the request's body.
  private var waitsForBody = false

  /// Counts a piece of the body; false when there were too many in this iteration of the loop.
  mutating func count(in iteration: UInt64) -> Bool {
    if received.iteration != iteration { received = (iteration, 0) }
    received.callbacks += 1
    return received.callbacks <= ReceiveQueue.callbacksPerIteration
  }

  /// The bytes that libcurl hands over are not taken: it pauses.
  mutating func pause() { paused |= CURLPAUSE_RECV }

  /// There is nothing of the request's body yet: libcurl pauses.
  mutating func pauseSending() {
    waitsForBody = true
    paused |= CURLPAUSE_SEND
  }

  /// The same, until `leaveQueue`.
  mutating func enterQueue() {
    isQueued = true
    pause()
  }

  /// The receive queue resumes the transfer.
  mutating func leaveQueue() {
    isQueued = false
    received.callbacks = 0
  }

  /// The directions that libcurl has to pause for `control` from now on; nil when it does so already.
  mutating func change(for control: TransferControl?) -> Int32? {
    let takesBytes = !isQueued && control?.takesBytes != false
    waitsForBody = waitsForBody && control?.hasUpload == false
    let wanted =
      control?.isPaused == true
      ? CURLPAUSE_ALL
      : (takesBytes ? CURLPAUSE_CONT : CURLPAUSE_RECV) | (waitsForBody ? CURLPAUSE_SEND : CURLPAUSE_CONT)
    guard wanted != paused else { return nil }
    paused = wanted
    return wanted
  }
}
