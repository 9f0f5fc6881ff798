import Glibc

/// The engine's side of the token benchmark; `check_tokens.c` is its yardstick and takes the same options. Prints one
/// line of JSON.
@main
enum CheckTokensEngine {
  static func main() async {
    do {
      let options = try Options(CommandLine.arguments.dropFirst())
      var validations = try Validations(options)
      if options.wantsVerdicts {
        print(#"{"verdicts":\#(try await validations.verdicts())}"#)
        return
      }
      if options.count == nil { _ = try await validations.run(count: nil, seconds: options.seconds / 10) }
      let begin = Meter.seconds
      let processor = Meter.processorSeconds
      let done = try await validations.run(count: options.count, seconds: options.seconds)
      let used = Meter.processorSeconds - processor
      print(#"{"validations":\#(done),"seconds":\#(Meter.seconds - begin),"cpuSeconds":\#(used)}"#)
    } catch {
      let text = "check_tokens_engine: \((error as? Failure)?.message ?? "\(error)")\n"
      _ = Glibc.write(STDERR_FILENO, text, text.utf8.count)
      exit(1)
    }
  }
}
