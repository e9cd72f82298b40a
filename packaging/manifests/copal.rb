class Copal < Formula
  desc "Deduplicating, encrypting backups without locks"
  homepage "@FROM@"
  version "@VERSION@"
  license any_of: ["Apache-2.0", "MIT"]

  on_macos do
    on_arm do
      url "@FROM@/copal-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256 copal-@VERSION@-aarch64-apple-darwin.tar.gz@"
    end
    on_intel do
      url "@FROM@/copal-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256 copal-@VERSION@-x86_64-apple-darwin.tar.gz@"
    end
  end

  on_linux do
    on_arm do
      url "@FROM@/copal-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 copal-@VERSION@-aarch64-unknown-linux-musl.tar.gz@"
    end
    on_intel do
      url "@FROM@/copal-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 copal-@VERSION@-x86_64-unknown-linux-musl.tar.gz@"
    end
  end

  def install
    bin.install "copal"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/copal.bash" => "copal"
    zsh_completion.install "completions/_copal"
    fish_completion.install "completions/copal.fish"
    doc.install Dir["licences/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/copal version")
  end
end
