import CLibFuzzer
import Dispatch
import Invariants

/// Tokens; the arguments are libFuzzer's.
@main
enum FuzzTokens {
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

/// The validators are asynchronous, but with fixed keys they wait for nothing.
private func check(_ bytes: [UInt8]) {
  let isDone = DispatchSemaphore(value: 0)
  Task.detached {
    do {
      _ = try await TokenInvariants.check(bytes)
    } catch {
      fatalError("\(error)")
    }
    isDone.signal()
  }
  isDone.wait()
}
