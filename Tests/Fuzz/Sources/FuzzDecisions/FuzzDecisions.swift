import CLibFuzzer
import Dispatch
import Invariants

/// Answers of decision points; the arguments are libFuzzer's.
@main
enum FuzzDecisions {
  static func main() {
    var count = CommandLine.argc
    var arguments = CommandLine.unsafeArgv
    _ = withUnsafeMutablePointer(to: &arguments) { arguments in
      arguments.withMemoryRebound(to: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?.self, capacity: 1) {
        LLVMFuzzerRunDriver(&count, $0) { start, count in
          check(Array(UnsafeBufferPointer(start: start, count: count)))
          return 0
        }
      }
    }
  }
}

/// Asking is asynchronous, but with a fixed answer it waits for nothing.
private func check(_ bytes: [UInt8]) {
  let isDone = DispatchSemaphore(value: 0)
  Task.detached {
    do {
      _ = try await DecisionInvariants.check(bytes)
    } catch {
      fatalError("\(error)")
    }
    isDone.signal()
  }
  isDone.wait()
}
