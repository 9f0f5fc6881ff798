import Glibc
import PosternRuntime

/// An event loop with the scheduler of its connections' work.
struct ServingLoop: Sendable {
  let loop: EpollLoop
  let scheduler: LoopScheduler

  /// How many processors the machine has.
  static var processors: Int { max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))) }

  /// Starts the loop's thread.
  init() throws(EpollError) {
    scheduler = LoopScheduler()
    loop = try EpollLoop("postern-loop", worker: scheduler)
    scheduler.attach(loop)
  }

  /// Starts `count` loops; none if one of them cannot be started.
  static func start(_ count: Int) throws(EpollError) -> [ServingLoop] {
    var loops: [ServingLoop] = []
    do throws(EpollError) {
      for _ in 0..<max(1, count) { loops.append(try ServingLoop()) }
      return loops
    } catch {
      end(loops)
      throw error
    }
  }

  /// Ends the threads. Not to be called from an event loop.
  static func end(_ loops: [ServingLoop]) {
    for loop in loops {
      loop.scheduler.retire()
      loop.loop.stop()
    }
    for loop in loops { loop.loop.join() }
  }

  /// Returns when the loop has run all closures that it has been given.
  func settle() async {
    await withCheckedContinuation { continuation in
      if !loop.execute({ continuation.resume() }) { continuation.resume() }
    }
  }
}
