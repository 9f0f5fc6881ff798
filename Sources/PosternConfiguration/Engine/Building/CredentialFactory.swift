import AuthEngine
import JOSE
import PosternSupport

/// Makes the client authentication of a configured credential.
struct CredentialFactory {
  /// The clock of assertions.
  let clock: any EngineClock
  /// The algorithm of assertions by an RSA key, where the provider has one.
  var rsaAlgorithm: SignatureAlgorithm?

  /// The credential of a section of `fallbackCredentials`, whose certificate is its own.
  func fallback(
    _ credential: ClientCredentialConfiguration, _ path: String
  ) throws(ConfigurationProblems) -> any AuthEngine.ClientAuthentication {
    guard credential.clientAuth.isByCertificate else { return try authentication(credential, path) }
    return TLSClientAuthentication(
      isSelfSigned: credential.clientAuth == .selfSignedTLSClientAuth,
      identity: EngineFactory.identity(credential.clientCertificateFile, credential.clientKey))
  }

  /// The credential of the section at `path`. Its certificate, where it has one, is the issuer's.
  func authentication(
    _ credential: ClientCredentialConfiguration, _ path: String
  ) throws(ConfigurationProblems) -> any AuthEngine.ClientAuthentication {
    let secret = credential.clientSecret?.value
    func unusable(_ part: String, _ error: JOSEError) -> ConfigurationProblems {
      EngineFactory.problem("\(path).\(part)File", "is not usable: \(error.message)")
    }
    switch (credential.clientAuth, secret, credential.clientKey, credential.clientAssertion) {
    case (.clientSecretBasic, let secret?, _, _): return ClientSecretBasic(secret: secret)
    case (.clientSecretPost, let secret?, _, _): return ClientSecretPost(secret: secret)
    case (.clientSecretJWT, let secret?, _, _):
      do throws(JOSEError) {
        return try ClientSecretJWT(secret: secret, audience: credential.audienceOfAssertions, clock: clock)
      } catch {
        throw unusable("clientSecret", error)
      }
    case (.privateKeyJWT, _, let file?, _):
      do throws(JOSEError) {
        let key = try credential.signingKey(in: file.value)
        return try PrivateKeyJWT(
          key: key, form: credential.assertionForm(for: key, rsaAlgorithm: rsaAlgorithm), clock: clock)
      } catch {
        throw unusable("clientKey", error)
      }
    case (.clientAssertion, _, _, let assertion?): return clientAssertion(assertion)
    case (.tlsClientAuth, _, _, _): return TLSClientAuthentication()
    case (.selfSignedTLSClientAuth, _, _, _): return TLSClientAuthentication(isSelfSigned: true)
    case (.none, _, _, _): return PublicClient()
    case (.clientSecretBasic, nil, _, _), (.clientSecretPost, nil, _, _), (.clientSecretJWT, nil, _, _),
      (.privateKeyJWT, _, nil, _), (.clientAssertion, _, _, nil):
      throw EngineFactory.problem(
        "\(path).clientAuth", "\(credential.clientAuth.rawValue) lacks its secret, key or file")
    }
  }

  private func clientAssertion(_ assertion: ClientAssertionConfiguration) -> ClientAssertion {
    let type =
      switch assertion.type {
      case "jwt-bearer": ClientAssertion.jwtBearer
      case "jwt-spiffe": ClientAssertion.jwtSPIFFE
      default: assertion.type
      }
    let file = SecretFile(path: assertion.file)
    return ClientAssertion(file: assertion.file, type: type, audience: assertion.audience, clock: clock) {
      // Kubelet removes the previous directory when it has turned the link: the path may have led there a moment ago.
      for _ in 0..<4 {
        if let assertion = try? file.read() { return .success(assertion) }
      }
      do throws(SecretFile.Problem) {
        return .success(try file.read())
      } catch {
        return .failure(ClientAssertionFault(error))
      }
    }
  }
}

extension ClientAssertionFault {
  fileprivate init(_ problem: SecretFile.Problem) {
    self =
      switch problem {
      case .missing: .missing
      case .unreadable, .notRegular: .unreadable
      case .empty: .empty
      case .tooLarge: .tooLarge
      case .malformed, .unsuitable: .malformed
      }
  }
}
