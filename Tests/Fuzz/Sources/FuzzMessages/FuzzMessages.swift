import CLibFuzzer
import Wire

/// Fuzzes the bytes that callers write to the socket; the arguments are libFuzzer's.
@main
enum FuzzMessages {
  static func main() {
    var count = CommandLine.argc
    var arguments = CommandLine.unsafeArgv
    _ = withUnsafeMutablePointer(to: &arguments) { arguments in
      arguments.withMemoryRebound(to: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?.self, capacity: 1) {
        LLVMFuzzerRunDriver(&count, $0) { start, count in
          do {
            _ = try MessageInvariants.check(Array(UnsafeBufferPointer(start: start, count: count)))
          } catch {
            fatalError("\(error)")
          }
          return 0
        }
      }
    }
  }
}
