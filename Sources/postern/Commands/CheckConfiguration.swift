import ArgumentParser
import PosternConfiguration
import PosternObservability
import PosternSupport
import Sidecar

/// `postern check-config`: the checks of `serve`, offline.
struct CheckConfiguration: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check-config",
    abstract: "Checks a configuration file, reports every problem with its position, and exits 0 or 1.",
    discussion: """
      Environment overrides (POSTERN__…) and secret files are read as `serve` would; nothing is contacted: `postern \
      doctor` does that.

      Examples:
        postern check-config
        postern check-config /etc/postern/postern.yaml
      """
  )

  @OptionGroup var configuration: ConfigurationArgument

  func run() throws {
    let config = try configuration.path()
    do throws(ConfigurationProblems) {
      let loaded = try ConfigurationLoader(methodNames: Product.methodNames)
        .load(path: config, environment: ProcessEnvironment.current)
      for warning in loaded.warnings { FailureNote.print("warning: \(warning.description)") }
      for note in try SidecarService.check(loaded.configuration) { FailureNote.print("warning: \(note)") }
      _ = try StoreAssembly(loaded.configuration.store, isNeeded: false)
      print("\(config): ok")
    } catch {
      for warning in error.warnings { FailureNote.print("warning: \(warning.description)") }
      for problem in error.problems { FailureNote.print(problem.description) }
      throw ExitCode(1)
    }
  }
}
