import PosternSupport

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
