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
    let path = "resources.\(name).credential"
    if let basic = configured.basic {
      return try credential(
        .basic(username: basic.username), basic.password, at: "\(path).basic",
        keys: [.username: "username", .value: "password"])
    }
    if let query = configured.query {
      return try credential(.query(name: query), configured.value, at: path, keys: [.name: "query", .value: "value"])
    }
    return try credential(
      .header(name: configured.header ?? "", prefix: configured.prefix ?? ""), configured.value, at: path,
      keys: [.name: "header", .prefix: "prefix", .value: "value"])
  }

  /// `keys` are those of the parts that may be at fault.
  private func credential(
    _ form: StaticCredential.Form, _ configured: ConfiguredSecret<String>?, at path: String,
    keys: [StaticCredentialError.Part: String]
  ) throws(ConfigurationProblems) -> StaticCredential? {
    guard let configured else { throw EngineFactory.problem(path, "has no secret") }
    do throws(StaticCredentialError) {
      let fixed = try StaticCredential(form, value: configured.value)
      guard case .file(let file) = configured.source else { return fixed }
      let secret = SecretFile(
        path: file, interval: .zero, report: report,
        accepts: { StaticCredential.fault(in: $0.reveal(), as: form) == nil })
      return try StaticCredential(form) { secret.current() ?? configured.value }
    } catch {
      var key = keys[error.part] ?? ""
      if error.part == .value { key += Self.suffix(of: configured.source) }
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
