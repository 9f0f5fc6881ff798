import ArgumentParser
import Glibc
import Playground

/// `playground`: runs the development upstream in the foreground until a signal, or its standard input, ends it.
@main
struct PlaygroundCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "playground",
    abstract: "A development upstream on loopback: OpenID provider, resource server, switchable faults.",
    discussion: """
      Prints one line of JSON when it is ready, and stops on SIGTERM or SIGINT. A double for development and tests: it gives \
      tokens to anyone who knows its well-known secrets.
      """
  )

  @Option(help: "The port to listen on; 0 lets the system choose.")
  var port = 0

  @Option(help: "The loopback address to listen on.")
  var host = "127.0.0.1"

  @Option(help: ArgumentHelp("How long access tokens live.", valueName: "duration"))
  var accessTokenLifetime = DurationArgument(.seconds(60))

  @Option(help: ArgumentHelp("How long ID tokens live.", valueName: "duration"))
  var idTokenLifetime = DurationArgument(.seconds(300))

  @Option(help: ArgumentHelp("How long a refresh token lives after it was issued.", valueName: "duration"))
  var refreshTokenLifetime = DurationArgument(.seconds(86_400))

  @Flag(inversion: .prefixedNo, help: "Replace a refresh token whenever it is used.")
  var rotateRefreshTokens = true

  @Flag(inversion: .prefixedNo, help: "Without replacing: name the refresh token again in each answer.")
  var repeatRefreshTokens = true

  @Option(
    help: ArgumentHelp("How long a replaced refresh token may be used again without alarm.", valueName: "duration"))
  var reuseGrace = DurationArgument(.zero)

  @Option(
    help: ArgumentHelp(
      "The private key, as PEM, of clients that sign; written there when there is no such file.", valueName: "path"))
  var clientKeyFile: String?

  @Option(
    name: .customLong("client"),
    help: ArgumentHelp("A client instead of the built-in ones; may be repeated.", valueName: "id=secret"))
  var clients: [ClientArgument] = []

  @Option(help: ArgumentHelp("A file that is written, whole, when the playground is ready.", valueName: "path"))
  var readyFile: String?

  @Flag(help: "Stop when the standard input ends, so that no caller leaves it behind.")
  var exitWithStdin = false

  func run() throws {
    // Before any other thread exists, so that all inherit it and the signals wait for `waitForEnd`.
    let signals = StopSignals.block()
    var configuration = playgroundConfiguration
    if let clientKeyFile { configuration.clientKeyPEM = try PrivateFile.read(clientKeyFile) }
    let server = try blocking { [configuration] in try await PlaygroundServer.start(configuration) }
    do {
      if let clientKeyFile, configuration.clientKeyPEM == nil {
        try AtomicFile.write(server.clientKeyPEM, to: clientKeyFile, mode: 0o600)
      }
      let line = Array((server.announcement + "\n").utf8)
      if let readyFile { try AtomicFile.write(line, to: readyFile) }
      try StandardStreams.writeToOutput(line)
      if exitWithStdin { try StandardStreams.onInputEnd { StopSignals.raise() } }
    } catch {
      try blocking { await server.stop() }
      throw error
    }
    signals.wait()
    try blocking { await server.stop() }
  }

  private var playgroundConfiguration: PlaygroundConfiguration {
    var configuration = PlaygroundConfiguration(
      host: host,
      port: port,
      accessTokenLifetime: accessTokenLifetime.duration,
      idTokenLifetime: idTokenLifetime.duration,
      refreshTokenLifetime: refreshTokenLifetime.duration,
      rotatesRefreshTokens: rotateRefreshTokens,
      repeatsRefreshTokens: repeatRefreshTokens,
      reuseGrace: reuseGrace.duration
    )
    if !clients.isEmpty { configuration.clients = clients.map(\.client) }
    return configuration
  }
}
