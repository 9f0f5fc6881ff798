import ArgumentParser
import Glibc
import PosternJSON
import PosternProtocol
import PosternSupport

/// `postern explain METHOD [PARAMS…]`.
struct ExplainMethodCall: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Shows what a call would come to, and why, without carrying it out.",
    discussion: """
      The method and the params are those of `postern call`. Nothing is sent, counted or recorded, and no secret is shown: \
      the running sidecar judges the call by its rules and limits as they are now. It is the first answer to every "why was \
      this rejected".

      Prints a step a line: passed, rejected, or open, where it depends on a server. Exit code: 0 as far as is known it would be \
      carried out, 1 it would be rejected, 2 no explanation, 64 wrong arguments.

      Examples:
        postern explain fetchResource resource=billing path=invoices/7
        postern explain getAccessToken resource=billing
        postern explain --json preauthorize resources:='["invoices"]'
      """
  )

  @OptionGroup var options: SocketOptions

  @Flag(help: "Print the result of explainCall, as JSON.")
  var json = false

  @Argument(
    help: "The method's name, e.g. fetchResource.",
    completion: .custom { _, _, _ in CompletionNames.methods })
  var method: String

  @Argument(
    help: "The params: name=value, name:=JSON, @FILE, - (standard input) or a JSON object.",
    completion: .custom { words, index, _ in CompletionNames.params(words, at: index) })
  var params: [String] = []

  func run() throws {
    var call: JSONObject = ["method": .string(method)]
    call["params"] = try CallMethod.params(of: params, command: "explain")
    let answer: JSONValue
    do {
      answer = try CallMethod.exchange(
        ["jsonrpc": "2.0", "id": 1, "method": .string(ExplainCall.name), "params": .object(call)], options)
    } catch {
      FailureNote.print("\(error)")
      throw ExitCode(2)
    }
    guard let result = answer["result"] else {
      CallMethod.showError(answer["error"] ?? answer)
      throw ExitCode(2)
    }
    if json {
      print(JSONWriter(pretty: isatty(1) == 1).string(result))
    } else {
      print(ExplanationTree(isPlain: !Self.hasUnicode).text(of: result, method: method))
    }
    if result["allowed"] != true { throw ExitCode(1) }
  }

  /// Whether standard output is a terminal whose locale has UTF-8.
  private static var hasUnicode: Bool {
    let environment = ProcessEnvironment.current
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    let name = locale.lowercasedASCII()
    return isatty(1) == 1 && (name.endsWithBytes(of: "utf-8") || name.endsWithBytes(of: "utf8"))
  }
}

/// An explanation as a tree, a step a line with its values below.
struct ExplanationTree {
  /// Whether it has no character outside of ASCII.
  let isPlain: Bool

  /// The tree of `result`, of a call of `method`.
  func text(of result: JSONValue, method: String) -> String {
    let steps = result["steps"]?.arrayValue ?? []
    let rejection = steps.first { $0["verdict"] == "rejects" }
    let isOpen = steps.contains { $0["verdict"] == "open" }
    let head =
      rejection.map { "\(method) would be rejected: \($0["errorCode"].map { JSONWriter().string($0) } ?? "")" }
      ?? "\(method) would be carried out\(isOpen ? ", as far as is known here" : "")"
    let width = steps.map { $0["step"]?.stringValue?.utf8.count ?? 0 }.max() ?? 0
    var lines = [line(head)]
    for (index, step) in steps.enumerated() {
      let isLast = index == steps.count - 1
      let name = step["step"]?.stringValue ?? ""
      let padding = String(repeating: " ", count: width - name.utf8.count)
      let branch = isPlain ? "|- " : isLast ? "└─ " : "├─ "
      lines.append(
        line("\(branch)\(mark(step["verdict"]?.stringValue)) \(name)\(padding)  \(step["summary"]?.stringValue ?? "")"))
      let details = details(of: step)
      guard !details.isEmpty else { continue }
      let trunk = isLast ? " " : isPlain ? "|" : "│"
      lines.append(line("\(trunk)\(String(repeating: " ", count: width + (isPlain ? 11 : 6)))\(details)"))
    }
    return lines.joined(separator: "\n")
  }

  private func mark(_ verdict: String?) -> String {
    switch verdict {
    case "passes": isPlain ? "passes " : "✓"
    case "rejects": isPlain ? "REJECTS" : "✗"
    default: isPlain ? "open   " : "?"
    }
  }

  /// The values that the summary does not have.
  private func details(of step: JSONValue) -> String {
    let summary = step["summary"]?.stringValue ?? ""
    return (step["details"]?.objectValue?.members ?? []).sorted { $0.name < $1.name }.compactMap { member in
      let value = member.value.stringValue ?? JSONWriter().string(member.value)
      return summary.contains(value) ? nil : "\(member.name)=\(value)"
    }.joined(separator: " ")
  }

  /// Names and URLs are those of a configuration or a caller: none of them may command the terminal.
  private func line(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          scalar.properties.generalCategory == .control || isPlain && !scalar.isASCII ? "?" : scalar
        }))
  }
}
