import Glibc
import PosternKit

let usage = """
  Usage: bank [--config postern.yaml] COMMAND
    login [--terminal]    log in with the browser, or by questions in the terminal
    whoami                show who is logged in
    get PATH              fetch from the bank
    transfer TO AMOUNT    transfer money; the bank requires a confirmation of it
    logout                end the session
  Exit status: 0 done, 1 failed, 2 not logged in, 64 usage, 75 failed for now, 78 configuration.
  """

/// The user's dealings with the bank. No token enters this program's own code.
struct Bank {
  let postern: Postern

  /// Logs the user in, in the place of whoever was logged in before.
  func login(inTerminal: Bool) async throws {
    for session in try await postern.sessions.all() { try await postern.sessions.end(session.handle) }
    guard inTerminal else { return _ = try await postern.sessions.login(open: show) }
    try await complete(postern.journeys.authenticate())
  }

  /// The session of the user who is logged in.
  func session() async throws -> Session {
    guard let session = try await postern.sessions.all().first else { throw Failure(status: 2) }
    return session
  }

  func transfer(to receiver: String, amount: String) async throws {
    let parameters: JSONObject = ["to": .string(receiver), "amount": .string(amount)]
    try await send(ResourceRequest(path: "transfers", method: "POST", parameters: parameters))
  }

  /// Sends a request as the user. Where the bank requires more than the login, the fetch continues after that.
  func send(_ request: ResourceRequest) async throws {
    let response = try await postern.fetch(request, session: session().handle, onAdvice: stepUp)
    guard response.status < 400 else { throw Failure(description: "The bank's response is \(response.status).") }
    print(response.text ?? "\(response.body.count) bytes")
  }

  /// Has the user satisfy the advice: in the browser (RFC 9470), or in the terminal (an access manager's callbacks).
  @Sendable private func stepUp(_ advices: [PolicyAdvice], _ session: SessionHandle?) async -> Bool {
    note("The bank requires a confirmation.")
    do {
      try await complete(postern.journeys.stepUpInBrowser(with: advices, session: session, open: show))
      return true
    } catch {
      note("\(error)")
      return false
    }
  }

  /// Has the user answer callbacks until there are no more.
  private func complete(_ first: JourneyNode.Outcome) async throws {
    var outcome = first
    while case .node(var node) = outcome {
      node.callbacks = try node.callbacks.map(answered)
      outcome = try await node.next()
    }
    if case .failed(let failure) = outcome { throw Failure(description: failure.message) }
  }
}

/// A callback with the user's answer from the terminal.
func answered(_ callback: any TypedCallback) throws -> any TypedCallback {
  switch callback {
  case var name as NameCallback:
    name.setValue(line(name.prompt))
    return name
  case var password as PasswordCallback:
    password.setValue(String(cString: getpass("\(password.prompt): ")))
    return password
  case var question as ConfirmationCallback:
    try question.setValue(line("Enter one of: \(question.options.joined(separator: ", "))"))
    return question
  case is TextOutputCallback, is PollingWaitCallback:
    note(callback.callback.message ?? "")
    return callback
  default: throw Failure(description: "This program cannot answer a \(callback.type).")
  }
}

/// The line that the user enters.
func line(_ prompt: String) -> String {
  note(prompt)
  return readLine() ?? ""
}

/// Opens the browser, and shows the address for one that this program cannot open.
@Sendable func show(_ url: String) {
  note("To log in, open \(url)")
  PosternSessions.openBrowser(url)
}

/// Writes a line to standard error.
func note(_ text: String) { _ = "\(text)\n".withCString { write(2, $0, strlen($0)) } }

/// A failure with a message for the user.
struct Failure: Error, CustomStringConvertible {
  var description = ""
  var status: Int32 = 1
}

/// The exit status for an error.
func status(of error: any Error) -> Int32 {
  switch error {
  case let failure as Failure: failure.status
  case let error as ResourceError where [.notAuthenticated, .sessionNotFound].contains(error.code): 2
  case let error as ResourceError: error.retryable == true ? 75 : 1
  case let error as SessionError: error.isRetryable == true ? 75 : 1
  case let error as StoreError: error.kind == .locked ? 75 : 1
  default: error is ConfigurationProblems ? 78 : 1
  }
}

/// The command in `words`; nil where they are none.
func command(_ words: [String]) -> ((Bank) async throws -> Void)? {
  switch (words.first, words.count) {
  case ("login", 1...2) where words.count == 1 || words[1] == "--terminal":
    { try await $0.login(inTerminal: words.count == 2) }
  case ("whoami", 1): { print(try await $0.session().subject ?? "a user whom the issuer does not name") }
  case ("get", 2): { try await $0.send(ResourceRequest(path: words[1])) }
  case ("transfer", 3): { try await $0.transfer(to: words[1], amount: words[2]) }
  case ("logout", 1): { try await $0.postern.sessions.end($0.session().handle) }
  default: nil
  }
}

var words = Array(CommandLine.arguments.dropFirst())
if words.contains("--help") { exit(puts(usage) < 0 ? 1 : 0) }
let file = words.first == "--config" && words.count > 1 ? words[1] : nil
if file != nil { words.removeFirst(2) }
do {
  guard let run = command(words) else { throw Failure(description: usage, status: 64) }
  let postern = try await Postern(configuration: file ?? "postern.yaml")
  do {
    try await run(Bank(postern: postern))
  } catch {
    await postern.close()
    throw error
  }
  await postern.close()
} catch {
  let status = status(of: error)
  note(status == 2 ? "Not logged in: use the command login." : "\(error)")
  exit(status)
}
