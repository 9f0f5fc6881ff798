import CPosternCurl
import HTTPMessages
import PosternSupport

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

  /// libcurl sends nothing more of the request's body: nothing is waited for.
  mutating func endSending() { waitsForBody = false }

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

/// Limits how much of the loop's thread bodies in very small chunks take, and shares that among uids.
///
/// libcurl calls back once for each chunk: of chunks of one byte that is ten thousand times for each read from the
/// connection. A transfer that reaches `callbacksPerIteration` pauses; libcurl keeps the rest of what it has read as
/// one piece, and reads nothing more until the transfer is resumed here. A few are resumed in each iteration of the
/// loop, of one uid after the other. Owned by the loop.
final class ReceiveQueue {
  /// How often libcurl may hand over a piece of one body in one iteration of the loop. A read of full records is far
  /// below it.
  static let callbacksPerIteration = 128
  /// How many transfers are resumed in one iteration of the loop: each takes up to a millisecond.
  static let resumesPerIteration = 4

  /// Counts the iterations of the loop.
  private(set) var iteration: UInt64 = 0
  private var waiting = FairQueue<() -> Void>()
  /// Whether a transfer has failed while it was resumed: libcurl finds its end when it looks at it next.
  var hasFailed = false

  /// Whether no transfer waits.
  var isEmpty: Bool { waiting.isEmpty }

  /// The loop is about to let libcurl work.
  func startIteration() { iteration &+= 1 }

  /// `resume` is called when the transfer, of `uid`, is next.
  func add(uid: UInt32, resume: @escaping () -> Void) {
    let flow = waiting.open(uid: uid)
    waiting.add(resume, of: flow)
  }

  /// Resumes the next ones.
  func resume() {
    // What is added meanwhile waits for another iteration of the loop, or a body could keep the thread here.
    var next: [() -> Void] = []
    while next.count < Self.resumesPerIteration, let (resume, flow) = waiting.next() {
      waiting.charge(flow, 1)
      waiting.close(flow)
      next.append(resume)
    }
    for resume in next { resume() }
  }
}
