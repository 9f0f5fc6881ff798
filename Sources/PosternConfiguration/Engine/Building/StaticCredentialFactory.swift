import AuthEngine
import PosternSupport

/// Makes the static credentials of resources. The secret of a file is read again when that is replaced; a replacement
/// that cannot be sent leaves the previous secret in force.
struct StaticCredentialFactory {
  let report: ConfiguredEngine.FileReport

  /// The credential of the resource of that name; nil where it has none.
  func credential(
    _ resource: ResourceConfiguration, named name: String
  ) throws(ConfigurationProblems) -> StaticCredential? {
    guard let configured = resource.tokens.credential else { return nil }
    let form = configured.form
    var path = "resources.\(name).credential"
    let keys: [StaticCredentialError.Part: String]
    switch form {
    case .header: keys = [.name: "header", .prefix: "prefix", .value: "value"]
    case .query: keys = [.name: "query", .value: "value"]
    case .basic:
      path += ".basic"
      keys = [.username: "username", .value: "password"]
    }
    guard let given = configured.secret else { throw EngineFactory.problem(path, "has no secret") }
    do throws(StaticCredentialError) {
      let fixed = try StaticCredential(form, value: given.value)
      guard case .file(let file) = given.source else { return fixed }
      let secret = SecretFile(
        path: file, interval: .zero, report: report,
        accepts: { StaticCredential.fault(in: $0.reveal(), as: form) == nil })
      return try StaticCredential(form) { secret.current() ?? given.value }
    } catch {
      var key = keys[error.part] ?? ""
      if error.part == .value { key += Self.suffix(of: given.source) }
      throw EngineFactory.problem("\(path).\(key)", "is not usable: it \(error.phrase)")
    }
  }

  /// The end of the key by which the secret is given.
  private static func suffix(of source: ConfiguredSecretSource) -> String {
    switch source {
    case .file: "File"
    case .environment: "Env"
    case .inline: ""
    }
  }
}
