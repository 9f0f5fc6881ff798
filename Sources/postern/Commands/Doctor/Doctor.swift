import ArgumentParser
import CurlTransport
import Glibc
import HTTPMessages
import PosternConfiguration
import PosternJSON
import PosternObservability
import PosternProtocol
import PosternRuntime
import PosternSupport
import Sidecar

/// `postern doctor`: looks for what does not work, at this machine and at the issuers.
struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Finds out what does not work: this machine's files and socket, and each issuer.",
    discussion: """
      Reads the configuration as `serve` does, and then tries, for each issuer: discovery, keys, a token request where \
      a resource has auth: clientCredentials, else client authentication by introspection, the redirect URI (an authorization request with prompt=none, as no user), \
      and compares clocks; the outbound proxy, by a tunnel to an issuer; here: permissions, the session store, the socket and its directory. Each line has what was \
      tried, what came, and the cure. Run it as the sidecar's user. Resources are not contacted; tokens and secrets are \
      not printed.
      Exit code: 0 no check failed, 1 a check failed, or the configuration has problems.

      Examples:
        postern doctor
        postern doctor /etc/postern/postern.yaml
        postern doctor --json --timeout 5
      """)

  @OptionGroup var configuration: ConfigurationArgument

  @Option(help: "Seconds that each server has for its answer.")
  var timeout: Double = 10

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    guard timeout >= 0.1, timeout <= 300 else {
      throw ValidationError("--timeout takes a number of seconds from 0.1 to 300.")
    }
  }

  /// An issuer's checks wait for discovery, then for a token, a pushed authorization request and its page.
  private static let longestChain = 4

  func run() async throws {
    let path = try configuration.path()
    // As `serve` does: the same variables count.
    let environment = ProcessEnvironment.current
    let heeded = LibraryEnvironment.clear()
    let report = DoctorReport()
    let entries: [DoctorReport.Entry]
    do throws(ConfigurationProblems) {
      let loaded = try ConfigurationLoader(methodNames: Product.methodNames).load(path: path, environment: environment)
      let identity = ProcessIdentity(
        startedAt: SystemClock().wallNow,
        libraries: GetInfo.Libraries(curl: "", openssl: "", jansson: "", swift: Product.swiftVersion))
      let snapshot = try ConfigurationSnapshot(
        loaded.configuration, identity, clock: SystemClock(), isTrial: true)
      let store = try StoreAssembly(loaded.configuration.store, isNeeded: true)
      report.add("configuration", tried: "read \(path)", .ok("no problems"))
      let notes = snapshot.notes + heeded.map { "\($0.message)" }
      LocalExamination(loaded, notes: notes, environment: environment, report).run()
      entries = await Self.examine(snapshot, store, report, within: .milliseconds(Int64(timeout * 1000)))
    } catch {
      for problem in error.problems {
        report.add(
          "configuration", tried: "read \(path)",
          .failed(problem.description, cure: "correct it; `postern configuration` explains each key"))
      }
      entries = report.closed(after: .zero)
    }
    print(json ? JSONWriter(pretty: isatty(1) == 1).string(entries.json(configuration: path)) : entries.text)
    // Before the sentence on standard error.
    fflush(nil)
    if entries.failures > 0 {
      FailureNote.print("\(entries.failures) of \(entries.count) checks failed")
      throw ExitCode(1)
    }
  }

  /// Makes the checks that wait for others, all issuers at once, until they end or the time is over.
  private static func examine(
    _ snapshot: ConfigurationSnapshot, _ store: StoreAssembly, _ report: DoctorReport, within patience: Duration
  ) async -> [DoctorReport.Entry] {
    let storeCheck = StoreExamination(store, snapshot.configuration.store, report)
    let issuers: IssuerExamination
    let proxy: ProxyExamination
    do {
      var settings = CurlTransport.Configuration()
      settings.proxy = OutboundProxySetting(snapshot.values.outboundProxy)
      let transport = try CurlTransport(configuration: settings)
      proxy = ProxyExamination(snapshot, transport, patience: patience, report)
      issuers = IssuerExamination(snapshot, transport, patience: patience, report)
    } catch {
      report.add(
        "libcurl", tried: "start it", .failed("\(error)", cure: "install the libcurl that the package depends on"))
      return report.closed(after: patience)
    }
    let (ends, end) = AsyncStream<Void>.makeStream()
    Task {
      await withTaskGroup { group in
        group.addTask { await storeCheck.run() }
        group.addTask { await proxy.run() }
        group.addTask { await issuers.run() }
      }
      end.yield()
    }
    // Whatever does not answer is left behind: the process exits.
    let bound = patience * longestChain
    Task {
      try? await SystemClock().sleep(for: bound)
      end.yield()
    }
    for await _ in ends { break }
    return report.closed(after: bound)
  }
}
